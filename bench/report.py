"""The tables and the pictures, made from rows: {name: {"title", "goals", "good", "by": [[who, {what: number} or {"missing": why}]]}}.

figures/results.json keeps the rows of each benchmark ("read": bench/run, "plain": bench/run --plain, "write": bench/write) and the machine of
each.  A run of some scenarios replaces their rows and leaves the others. results.md and the pictures are made
from all rows."""
import datetime
import html
import json
import os
import platform

FIGURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "figures")
RESULTS = "results.json"

UNITS = {"R": "{:.2f}", "wall": "{:.2f} s", "phase": "{:.2f} s", "requests": "{:.0f}", "MiB": "{:.1f} MiB", "CPU": "{:.2f} s",
         "chain": "{:.0f}", "rss": "{:.0f} MiB", "rss_over": "{:+.0f} MiB", "cpu_R": "{:.2f}", "native": "{:.2f}", "wall_of": "{:.2f}", "phase_of": "{:.2f}",
         "other_puts": "{:.0f}", "sent_R": "{:.2f}", "puts_R": "{:.3f}", "R_hand": "{:.2f}", "R_between": "{:.2f}", "http": "{:.2f}", "chain_more": "{:+.0f}",
         "CPU_more": "{:+.3f} s"}
WORDS = {"R": "R", "wall": "wall", "phase": "reads", "requests": "requests", "MiB": "data", "CPU": "CPU", "chain": "round trips",
         "rss": "RSS", "rss_over": "RSS above output", "cpu_R": "CPU / plain", "native": "/ native", "wall_of": "/ clean run", "phase_of": "/ fixed length",
         "other_puts": "other PUTs", "sent_R": "sent / dirty chunks", "puts_R": "PUTs / objects", "R_hand": "/ by hand",
         "R_between": "/ plain, between two round trips", "http": "/ own http", "chain_more": "round trips more than by http",
         "CPU_more": "CPU more than by http"}


def machine():
    model = "unknown processor"
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as f:
        for line in f:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores ({model}), {memory:.0f} GiB, {platform.system()} {platform.release().split('-')[0]}"


def goal_text(goals, got):
    """Each goal with the value reached, and whether that is enough."""
    parts, good = [], True
    for what, limit in goals.items():
        if got.get(what) is None:
            continue
        ok = got[what] <= limit
        good &= ok
        parts.append(f"{WORDS[what]} {UNITS[what].format(got[what])} {'≤' if ok else '**>**'} {UNITS[what].format(limit)}")
    return "; ".join(parts), good


def rounded(numbers):
    return {key: round(value, 4) if isinstance(value, float) else value for key, value in numbers.items() if key != "text"}


def rows_of(results):
    """results: [(scenario or case with name, title and goals, [(who, numbers)], whose goals)]"""
    rows = {}
    for scenario, by, ours in results:
        goals, good = goal_text(scenario.goals, dict(by)[ours])
        rows[scenario.name] = {"title": scenario.title, "date": datetime.date.today().isoformat(), "goals": goals, "good": good,
                               "by": [[who, rounded(numbers)] for who, numbers in by]}
    return rows


# ---- tables ----

READ_COLUMNS = (("wall s", "wall", "{:.2f}"), ("reads s", "phase", "{:.3f}"), ("R", "R", "{:.2f}"), ("/ own http", "http", "{:.2f}"),
                ("requests", "requests", "{:.0f}"), ("connections", "connections", "{:.0f}"), ("round trips", "chain", "{:.0f}"), ("MiB", "MiB", "{:.2f}"), ("CPU s", "CPU", "{:.2f}"), ("peak RSS MiB", "rss", "{:.0f}"))
WRITE_COLUMNS = (("s", "wall", "{:.2f}"), ("R", "R", "{:.2f}"), ("/ own http", "http", "{:.2f}"), ("R, stored bytes", "R_stored", "{:.2f}"), ("/ by hand", "R_hand", "{:.2f}"),
                 ("between", "R_between", "{:.2f}"), ("PUTs", "puts", "{:.0f}"), ("besides chunks", "other_puts", "{:.0f}"), ("other requests", "gets", "{:.0f}"), ("MiB sent", "MiB", "{:.1f}"),
                 ("CPU s", "CPU", "{:.2f}"), ("peak MiB beside the data", "rss", "{:.0f}"))


def tables(rows, first, who_head, columns):
    lines = [f"| {first} | {who_head} | " + " | ".join(c[0] for c in columns) + " |", "|---|---|" + "---:|" * len(columns)]
    for row in rows.values():
        for who, numbers in row["by"]:
            if "missing" in numbers:
                cells = [numbers["missing"]] + [""] * (len(columns) - 1)
            else:
                cells = [form.format(numbers[key]) if numbers.get(key) is not None and (numbers[key] or key != "chain") else ""
                         for _, key, form in columns]
            lines.append(f"| {row['title']} | {who} | " + " | ".join(cells) + " |")
    lines += ["", f"| {first} | goals | |", "|---|---|---|"]
    lines += [f"| {row['title']} | {row['goals']} | {'reached' if row['good'] else '**missed**'} |" for row in rows.values() if row["goals"]]
    return "\n".join(lines)


def comparison(results):
    """Numbers without a goal; results: [(title, [(who, numbers)])]"""
    rows = {title: {"title": title, "by": by, "goals": ""} for title, by in results}
    return tables(rows, "program", "with", READ_COLUMNS).split("\n\n", maxsplit=1)[0]


def measured_on(about, rows):
    dates = sorted({row["date"] for row in rows.values()})
    return f"{' to '.join(dict.fromkeys((dates[0], dates[-1])))}, {about.get('machine', machine())}, client and server on the same machine"


def read_tables(rows, about):
    return (f"Every answer waits {about['delay']:g} ms; median of {about['repeat']} runs. {measured_on(about, rows)}.\n\n" +
            tables(rows, "scenario", "read by", READ_COLUMNS))


def write_tables(rows, about):
    return (f"Every request to the bucket waits {about['delay']:g} ms before it is answered; "
            f"median of {about['repeat']} runs. {measured_on(about, rows)}.\n\n" + tables(rows, "written", "by", WRITE_COLUMNS))


# ---- pictures ----

COLOURS = {"vol-bucket": "#1f6f8b", "plain": "#9aa5b1", "native": "#7a9e5f"}


def colour(who):
    return next((c for start, c in COLOURS.items() if who.startswith(start)), "#d9a441")


def picture(rows):
    """Wall times as bars, one group per scenario, each on its own scale."""
    y, out = 34, []
    for row in rows.values():
        bars = [(who, n["wall"]) for who, n in row["by"] if "missing" not in n]
        longest = max(wall for _, wall in bars)
        out.append(f'<text x="10" y="{y}" class="t">{html.escape(row["title"])}</text>')
        y += 8
        for who, wall in bars:
            width = 400 * wall / longest
            out.append(f'<rect x="210" y="{y}" width="{width:.1f}" height="12" fill="{colour(who)}"/>'
                       f'<text x="204" y="{y + 10}" class="n" text-anchor="end">{html.escape(who)}</text>'
                       f'<text x="{216 + width:.1f}" y="{y + 10}" class="n">{wall:.2f} s</text>')
            y += 16
        y += 22
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="680" height="{y}" viewBox="0 0 680 {y}">'
            '<style>text{font-family:sans-serif;fill:#222}.t{font-size:12px;font-weight:bold}.n{font-size:11px}</style>'
            f'<rect width="680" height="{y}" fill="#fff"/>' + "".join(out) + "</svg>\n")


# ---- files ----

PARTS = (("read", "Reading", "bench/run", read_tables, "results.svg"), ("plain", "Plain files", "bench/run --plain", read_tables, "results-plain.svg"),
         ("samples", "Samples by record", "bench/run --samples", read_tables, "results-samples.svg"),
          ("write", "Writing", "bench/write", write_tables, "results-write.svg"))


def put(name, text):
    with open(os.path.join(FIGURES, name), "w", encoding="utf-8") as f:
        f.write(text)


def save(part, about, rows, order):
    """Put rows in place of those of the same name.  Rows from another machine, or of a scenario that no
    longer exists, are removed."""
    try:
        with open(os.path.join(FIGURES, RESULTS), encoding="utf-8") as f:
            everything = json.load(f)
    except FileNotFoundError:
        everything = {}
    about = {**about, "machine": machine()}
    kept = everything.get(part, {})
    both = {**(kept["rows"] if kept.get("about") == about else {}), **rows}
    everything[part] = {"about": about, "rows": {name: both[name] for name in order if name in both}}
    put(RESULTS, json.dumps(everything, indent=1, ensure_ascii=False) + "\n")
    text = ["# Results", "", "How to read this: [README.md](../README.md). Written by `bench/run --save` and `bench/write --save`."]
    for name, title, command, to_text, image in PARTS:
        if name in everything:
            text += ["", f"## {title} (`{command}`)", "", f"![wall times]({image})", "", to_text(everything[name]["rows"], everything[name]["about"])]
            put(image, picture(everything[name]["rows"]))
    put("results.md", "\n".join(text) + "\n")
