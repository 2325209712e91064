"""The server: nginx with static files on 127.0.0.1, where every answer waits; counted and timed by its own log."""
import atexit
import os
import resource
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
CHAIN_MOST = 2000  # requests: round trips are not computed beyond
FAR_MS = 100  # until the first byte, from the server that is far away

NGINX = """
load_module {modules}/ndk_http_module.so;
load_module {modules}/ngx_http_lua_module.so;
worker_processes 2; pid {dir}/nginx.pid; error_log {dir}/error.log error; daemon off; {user}
worker_rlimit_nofile {files};
events {{ worker_connections 4096; }}
http {{
    client_body_temp_path {dir}/t1; proxy_temp_path {dir}/t2; fastcgi_temp_path {dir}/t3;
    uwsgi_temp_path {dir}/t4; scgi_temp_path {dir}/t5;
    log_format count '$request_method $status $body_bytes_sent $connection $msec $request_time $uri';
    access_log {dir}/access.log count buffer=64k flush=20ms;
    sendfile on; sendfile_max_chunk 2m; tcp_nodelay on; keepalive_requests 1000000; keepalive_timeout 600s;
    default_type binary/octet-stream;
    {certificate}
    error_page 404 @absent; # as S3 says it, else it would be an error
    init_by_lua_block {{ dofile("{here}/lists.lua").init("{dir}/lists/") dofile("{here}/paced.lua") }}
    server {{ # each answer waits
        listen 127.0.0.1:{port} backlog=4096;{port_tls}
        location @absent {{ {absent} }}
        open_file_cache max={cached} inactive=600s; open_file_cache_valid 600s;
        location / {{ access_by_lua_block {{ ngx.sleep({delay}) }} root {dir}; }}
        location = /bucket {{ content_by_lua_block {{ ngx.sleep({delay}) list_bucket() }} }}
    }}
    server {{ # none waits
        listen 127.0.0.1:{near} backlog=4096;{near_tls}
        location @absent {{ {absent} }}
        open_file_cache max={cached} inactive=600s; open_file_cache_valid 600s;
        location / {{ access_by_lua_block {{ ngx.sleep(0) }} root {dir}; }}
        location = /bucket {{ content_by_lua_block {{ list_bucket() }} }}
    }}
    limit_conn_zone $server_port zone=all:1m; limit_conn_status 503;
    server {{ # bears 16 requests at once
        listen 127.0.0.1:{busy} backlog=4096;{busy_tls} limit_conn all 16; limit_conn_log_level info;
        location @absent {{ {absent} }}
        location / {{ access_by_lua_block {{ ngx.sleep({delay}) }} root {dir}; }}
    }}
    server {{ # one in a hundred waits a second more
        listen 127.0.0.1:{late} backlog=4096;{late_tls}
        location @absent {{ {absent} }}
        location / {{ access_by_lua_block {{ ngx.sleep({delay} + (math.random(100) == 1 and 1 or 0)) }} root {dir}; }}
    }}
    lua_shared_dict asked 1m;
    server {{ # the same objects are a second late each time
        listen 127.0.0.1:{late_same} backlog=4096;{late_same_tls}
        location @absent {{ {absent} }}
        location / {{ access_by_lua_block {{ ngx.sleep({delay} + (is_trouble() and 1 or 0)) }} root {dir}; }}
    }}
    server {{ # the same bodies stop for two seconds each time
        listen 127.0.0.1:{stuck} backlog=4096;{stuck_tls}
        location @absent {{ {absent} }}
        location / {{ content_by_lua_block {{ ngx.sleep({delay}) serve_paced("{dir}", 1e10, is_trouble() and 2 or nil) }} }}
    }}
    server {{ # far away: the first byte after 100 ms, then 50 MB a second for each request; a PUT's answer 100 ms after its body
        listen 127.0.0.1:{far} backlog=4096;{far_tls} client_max_body_size 0;
        location @absent {{ {absent} }}
        location / {{
            content_by_lua_block {{
                if ngx.req.get_method() == "PUT" then return take_paced("{dir}", 50e6, {far_delay}) end
                ngx.sleep({far_delay}) serve_paced("{dir}", 50e6)
            }}
        }}
    }}
    server {{ # for making the data
        listen 127.0.0.1:{making}; access_log off; client_max_body_size 1g;
        location @absent {{ {absent} }}
        location / {{
            content_by_lua_block {{
                if ngx.req.get_method() == "PUT" then return take_paced("{dir}", 1e12, 0) end
                ngx.exec("@file")
            }}
        }}
        location @file {{ root {dir}; }}
        location = /bucket {{ content_by_lua_block {{ list_bucket("{dir}") }} }}
    }}
}}
"""


def take_puts():
    """For benchmarks that write: every server takes PUTs, and lists what there is; the log has a PUT's own length."""
    global NGINX  # pylint: disable=global-statement
    for old, new in (
            ("location / {{ access_by", """client_max_body_size 0; client_body_buffer_size 4m;
        location / {{
            dav_methods PUT DELETE; create_full_put_path on;
            header_filter_by_lua_block {{ answer_put() }}
            access_by"""),
            ("'$request_method $status $body_bytes_sent $connection", "'$request_method $status $bytes_moved $connection"),
            ("    log_format", "    map $request_method $bytes_moved {{ default $body_bytes_sent; PUT $request_length; }}\n    log_format"),
            ("list_bucket()", 'list_bucket("{dir}")'),
            ("open_file_cache max={cached} inactive=600s; open_file_cache_valid 600s;", "")):
        NGINX = NGINX.replace(old, new)


ABSENT = 'default_type application/xml; return 404 "<Error><Code>NoSuchKey</Code></Error>";'


# Ends the server and takes temporary folders away when the pipe ends without a word, as it does when its other end is killed.
WATCH = """
read -r word && exit 0
server=$1; shift
kill "$server" 2>/dev/null
for i in 1 2 3 4 5 6 7 8 9 10; do kill -0 "$server" 2>/dev/null || break; sleep 0.5; done
kill -KILL "$server" 2>/dev/null
for folder; do rm -rf -- "$folder"; done
"""


MODULES = "/usr/lib/nginx/modules"
CERTIFICATE = "ssl_protocols TLSv1.3; ssl_certificate {0}/cert.pem; ssl_certificate_key {0}/key.pem;"
SERVERS = ("port", "near", "late", "late_same", "stuck", "busy", "far", "making")


def own_authority(folder):
    """A certificate for this machine by a CA of our own; all.pem has that CA and all that the system trusts.
    Made once."""
    bundle = os.path.join(folder, "all.pem")
    if not os.path.exists(bundle):
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        subprocess.run([os.path.join(ROOT, "test", "s3", "certificate.sh"), folder], check=True)
        system = ssl.get_default_verify_paths().cafile or "/etc/ssl/certs/ca-certificates.crt"
        with open(bundle + ".part", "w", encoding="utf-8") as out:
            for name in (system, os.path.join(folder, "ca.pem")):
                with open(name, encoding="utf-8") as f:
                    out.write(f.read())
        os.rename(bundle + ".part", bundle)
    return bundle


def program():
    """nginx, if it is there, and with Lua; else None."""
    found = shutil.which("nginx", path="/usr/sbin:/usr/bin:" + os.environ.get("PATH", ""))
    return found if os.path.exists(MODULES + "/ngx_http_lua_module.so") else None


def free_ports(n):
    sockets = [socket.socket() for _ in range(n)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def longest_chain(lines):
    """Most requests of which each came after the answer to the one before: dependent round trips."""
    events = sorted((end - took, end) for end, took in lines)
    best = []  # (end, depth), both ascending
    deepest = 0
    for begin, end in events:
        depth = 1
        for other_end, other_depth in reversed(best):
            if other_end <= begin:
                depth = other_depth + 1
                break
        best.append((end, depth))
        best.sort()
        best = [b for i, b in enumerate(best) if all(b[1] > a[1] for a in best[:i])]
        deepest = max(deepest, depth)
    return deepest


class Server:
    """temporary: folders that are removed with the server, if this process has no chance to remove them. tls:
    each measured server also has a port for TLS 1.3."""

    def __init__(self, folder, delay_ms, temporary=(), tls=False):
        self.ca = own_authority(os.path.join(folder, "tls")) if tls else None
        self.folder, self.temporary, self.delay_ms = folder, temporary, delay_ms
        self.log = os.path.join(folder, "access.log")
        self.process = self.watcher = None
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that atexit's functions run
        atexit.register(self.stop)  # however the program ends
        nginx = program()
        if not nginx:
            sys.exit("nginx with Lua is missing: install nginx-light and libnginx-mod-http-lua")
        if not any(self.start(nginx) for _ in range(3)):  # another process may take a port that was free
            with open(folder + "/error.log", encoding="utf-8") as f:
                sys.exit("nginx does not start: " + f.read())

    def configure(self, conf):
        free = free_ports(2 * len(SERVERS))
        ports, self.tls_ports = dict(zip(SERVERS, free)), dict(zip(SERVERS, free[len(SERVERS):]))
        self.port, self.ports = ports["port"], ports
        also = {f"{name}_tls": f" listen 127.0.0.1:{port} ssl backlog=4096;" if self.ca else "" for name, port in self.tls_ports.items()}
        # a descriptor for each file that stays open and two for each connection; nginx answers 500 when it has too few
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        files = 20000 if hard == resource.RLIM_INFINITY else min(20000, hard)
        with open(conf, "w", encoding="ascii") as f:
            f.write(NGINX.format(dir=self.folder, **ports, **also,
                                 certificate=CERTIFICATE.format(os.path.dirname(self.ca)) if self.ca else "", absent=ABSENT, modules=MODULES, delay=self.delay_ms / 1000, far_delay=FAR_MS / 1000,
                                 files=files, cached=max(files - 5000, 100), here=HERE,
                                 user="user root;" if os.geteuid() == 0 else ""))

    def start(self, nginx):
        """Whether it runs: its pid file is there once it has all ports."""
        conf, running = (os.path.join(self.folder, name) for name in ("nginx.conf", "nginx.pid"))
        self.configure(conf)
        if os.path.exists(running):
            os.remove(running)
        self.process = subprocess.Popen([nginx, "-c", conf, "-p", self.folder, "-e", self.folder + "/error.log"])
        # in a session of its own: a signal to a whole group of processes, a terminal's for example, doesn't
        # end it
        self.watcher = subprocess.Popen(["/bin/sh", "-c", WATCH, "watch", str(self.process.pid), *self.temporary], stdin=subprocess.PIPE,
                                        stdout=subprocess.DEVNULL, start_new_session=True)
        while self.process.poll() is None:
            if os.path.exists(running):
                return True
            time.sleep(0.02)
        self.stop()
        return False

    def url(self, how="port", tls=False):
        return f"https://127.0.0.1:{self.tls_ports[how]}" if tls else f"http://127.0.0.1:{self.ports[how]}"

    def trust(self):
        """The environment in which clients trust its certificate: the connector's, curl's, Python's."""
        return dict.fromkeys(("AWS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"), self.ca) if self.ca else {}

    def mark(self):
        return os.path.getsize(self.log)

    def counted(self, mark):
        """Requests, bytes, connections and dependent round trips since the mark, as the server saw them."""
        time.sleep(0.05)
        with open(self.log, encoding="ascii") as f:
            f.seek(mark)
            lines = [line.split() for line in f]
        chain = longest_chain([(float(l[4]), float(l[5])) for l in lines]) if len(lines) <= CHAIN_MOST else 0
        return {"requests": len(lines), "bytes": sum(int(l[2]) for l in lines),
                "failed": sum(l[1] not in ("200", "206", "404") for l in lines),
                "connections": len({l[3] for l in lines}), "chain": chain}

    def stop(self):
        if self.watcher:
            self.watcher.communicate(b"over\n")
            self.watcher = None
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait()
