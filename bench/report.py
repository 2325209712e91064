"""The table and the picture."""
import datetime
import html
import os
import platform

UNITS = {"R": "{:.2f}", "wall": "{:.2f} s", "phase": "{:.2f} s", "requests": "{:.0f}", "MiB": "{:.1f} MiB", "CPU": "{:.2f} s",
         "chain": "{:.0f}", "rss": "{:.0f} MiB", "rss_over": "+{:.0f} MiB", "cpu_R": "{:.2f}", "native": "{:.2f}", "wall_of": "{:.2f}"}
WORDS = {"R": "R", "wall": "wall", "phase": "reads", "requests": "requests", "MiB": "data", "CPU": "CPU", "chain": "round trips",
         "rss": "RSS", "rss_over": "RSS above output", "cpu_R": "CPU / plain", "native": "/ native", "wall_of": "/ clean run"}


def machine():
    model = "unknown processor"
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as f:
        for line in f:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores ({model}), {memory:.0f} GiB, {platform.system()} {platform.release().split('-')[0]}"


def goal_text(scenario, ours):
    """Each goal with what was reached, and whether that is enough."""
    parts, good = [], True
    for what, limit in scenario.goals.items():
        got = ours.get(what)
        if got is None:
            continue
        ok = got <= limit
        good &= ok
        parts.append(f"{WORDS[what]} {UNITS[what].format(got)} {'≤' if ok else '**>**'} {UNITS[what].format(limit)}")
    return "; ".join(parts), good


def markdown(args, results):
    lines = [f"Every answer waits {args.delay:g} ms; median of {args.repeat} runs. {datetime.date.today().isoformat()}, {machine()}, client and "
             "server on the same machine.", "",
             "| scenario | read by | wall s | reads s | R | requests | round trips | MiB | CPU s | peak RSS MiB |",
             "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|"]
    for scenario, rows in results:
        for name, r in rows:
            lines.append(f"| {scenario.title} | {name} | {r['wall']:.2f} | {r['phase']:.3f} | " if r.get("phase") is not None
                         else f"| {scenario.title} | {name} | {r['wall']:.2f} | | ")
            lines[-1] += (f"{r['R']:.2f}" if r.get("R") else "") + f" | {r['requests']:.0f} | {r['chain'] or '':} | {r['bytes'] / 2**20:.2f} | "
            lines[-1] += f"{r['CPU']:.2f} | {r['rss']:.0f} |"
    lines += ["", "| scenario | goals | |", "|---|---|---|"]
    for scenario, rows in results:
        ours = dict(rows).get("vol-bucket")
        if ours:
            text, good = goal_text(scenario, ours)
            lines.append(f"| {scenario.title} | {text} | {'reached' if good else '**missed**'} |")
    return "\n".join(lines)


COLOURS = {"vol-bucket": "#1f6f8b", "plain libcurl": "#9aa5b1"}


def picture(results):
    """Wall times as bars, one group per scenario, each on its own scale."""
    y, out = 34, []
    for scenario, rows in results:
        longest = max(r["wall"] for _, r in rows)
        out.append(f'<text x="10" y="{y}" class="t">{html.escape(scenario.title)}</text>')
        y += 8
        for name, r in rows:
            width = 420 * r["wall"] / longest
            out.append(f'<rect x="170" y="{y}" width="{width:.1f}" height="12" fill="{COLOURS.get(name, "#d9a441")}"/>'
                       f'<text x="164" y="{y + 10}" class="n" text-anchor="end">{html.escape(name)}</text>'
                       f'<text x="{176 + width:.1f}" y="{y + 10}" class="n">{r["wall"]:.2f} s</text>')
            y += 16
        y += 22
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="680" height="{y}" viewBox="0 0 680 {y}">'
            '<style>text{font-family:sans-serif;fill:#222}.t{font-size:12px;font-weight:bold}.n{font-size:11px}</style>'
            f'<rect width="680" height="{y}" fill="#fff"/>' + "".join(out) + "</svg>\n")
