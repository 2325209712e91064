"""The times of a writer's requests, by the server's log, beside the program's own activity."""


def draw(title, marks, lines, steps=40):
    """marks: when H5Fcreate began and ended, and H5Fclose began and ended, in seconds; lines: nginx's, as words."""
    zero, (created, closing, closed) = marks[0], (1000 * (mark - marks[0]) for mark in marks[1:])
    requests = [(1000 * (float(l[4]) - float(l[5]) - zero), 1000 * (float(l[4]) - zero), l) for l in lines]
    chunks = [r for r in requests if r[2][0] == "PUT" and not r[2][6].endswith(".json")]
    out = [f"{title}: H5Fcreate until {created:.0f} ms, H5Fclose from {closing:.0f} to {closed:.0f} ms"]
    others = [r for r in requests if r not in chunks]
    for begin, end, words in others[:10]:
        out.append(f"  {begin:6.0f} .. {end:4.0f} ms  {words[0]} {words[6].rsplit('/', 1)[-1]}: {words[1]}")
    if len(others) > 10:
        out.append(f"  and {len(others) - 10} more")
    if chunks:
        step = max(1, round(closed / steps))
        out.append(f"  chunks over {len({words[3] for _, _, words in chunks})} connections; from, under way, ended within {step} ms:")
        for at in range(0, int(closed) + 1, step):
            active = sum(begin <= at < end for begin, end, _ in chunks)
            ended = sum(at <= end < at + step for _, end, _ in chunks)
            if active or ended:
                out.append(f"  {at:6} ms {active:4} {ended:4}  {'#' * (active // 2)}")
    return "\n".join(out)
