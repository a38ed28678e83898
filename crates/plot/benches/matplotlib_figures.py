"""Draws the figures that `mage-plot --json` gives on standard input with matplotlib, and prints the time.

The same figures in number and content, each as SVG (text as outlines) and as PNG, for a desktop and a phone; not as
carefully laid out. Nothing is kept.
"""

import io
import json
import sys
import time

try:
    start = time.perf_counter()
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    imported = time.perf_counter() - start
except ImportError:
    print("matplotlib: not installed (pip install matplotlib), so there is nothing to compare with")
    sys.exit()


def bars(rows):
    """Panels by the first column: labels and the numbers of each row."""
    panels = {}
    for row in rows:
        cells = list(row.items())
        label = " ".join(str(v) for _, v in cells[1:] if isinstance(v, str))[:30]
        for name, value in cells[1:]:
            if not isinstance(value, str):
                panels.setdefault(cells[0][1], []).append((f"{label} {name}".strip(), value))
    return panels


def draw(figure, width):
    """One figure as a grid of panels."""
    samples = {}
    for case in figure.get("plotted", []):
        samples.setdefault(case["operation"], []).extend(case["rounds_us"])
    panels = samples or bars(figure["values"])
    across = 3 if width > 5 else 1
    down = -(-len(panels) // across)
    fig, axes = plt.subplots(down, across, figsize=(width, 2.2 * down), squeeze=False)
    for axis, (title, values) in zip(axes.flat, panels.items()):
        axis.set_title(title)
        if samples:
            for i, ys in enumerate(values):
                axis.scatter(range(i * len(ys), (i + 1) * len(ys)), ys, s=2)
        else:
            axis.barh([label for label, _ in values], [value for _, value in values])
            for i, (_, value) in enumerate(values):
                axis.text(value, i, f"{value:.1f}")
    fig.suptitle(figure["title"])
    fig.tight_layout()
    for kind in ("svg", "png"):
        fig.savefig(io.BytesIO(), format=kind, dpi=192 if kind == "png" else 96)
    plt.close(fig)


figures = json.load(sys.stdin)["figures"]
start = time.perf_counter()
for figure in figures:
    for width in (11.25, 4.06):
        draw(figure, width)
seconds = time.perf_counter() - start
print(
    f"matplotlib {matplotlib.__version__}: {4 * len(figures)} files of the same values in {seconds:.2f} s, "
    f"and {imported:.2f} s to import it"
)
