"""What has been measured so far, growing while more is measured."""

from typing import TYPE_CHECKING

import streamlit as st

from components import state, theme
from components.figures.quantities import QUANTITIES, Quantity
from components.figures.timing import Timing, timing_figure
from components.jobs import Progress, benchmark_job
from components.live import live_chart, save_as
from components.messages import errors_as_sentences, plain, rerun, warn
from components.parts import bench_overlay, bench_table
from components.parts.bench_controls import Asked

if TYPE_CHECKING:
    from attention.benchmark import BenchmarkSettings
    from attention.benchmark.summary import Row

EVERY_S = 0.5


def draw(asked: Asked) -> None:
    """Everything that grows, redrawn by itself while something is measured."""
    job = benchmark_job()
    job.want(asked.settings, asked.wanted)
    running = job.poll(asked.settings).running
    st.fragment(_grow, run_every=EVERY_S if running else None)(asked, running)


def _buttons(asked: Asked, progress: Progress) -> None:
    job = benchmark_job()
    disturbed = sorted({m.num_heads for m in progress.measurements if m.disturbed})
    with st.container(key="bench_buttons", horizontal=True, vertical_alignment="center"):
        st.button(
            "Sweep",
            key="bench_sweep",
            help=f"Measures {', '.join(map(str, asked.sweep))} heads anew.",
            on_click=job.sweep,
            args=(asked.settings, asked.sweep),
        )
        st.button(
            "Stop",
            key="bench_stop",
            help="Ends measuring at once; the points stay.",
            disabled=not progress.running,
            on_click=job.stop,
            args=(asked.settings, asked.wanted),
        )
        if progress.stopped:
            st.button(
                "Go on",
                key="bench_resume",
                on_click=job.resume,
                args=(asked.settings, asked.wanted),
            )
        elif disturbed and not progress.running:
            st.button(
                "Measure disturbed again",
                key="bench_again",
                help=f"{', '.join(map(str, disturbed))} heads: other programs were busy then.",
                on_click=job.sweep,
                args=(asked.settings, disturbed),
            )


def _grow(asked: Asked, was_running: bool) -> None:
    """Draw all of it once."""
    from attention.benchmark.summary import rows

    with errors_as_sentences():
        progress = benchmark_job().poll(asked.settings)
        if was_running != progress.running:
            rerun()  # the timer of this fragment starts and stops outside it
        buttons, work = st.columns([2, 3], gap="medium", vertical_alignment="center")
        with buttons:
            _buttons(asked, progress)
        with work:
            _state_of_work(progress)
        if progress.error:
            warn(progress.error)
        table = rows(progress.measurements)
        quantity = QUANTITIES[state.text("figure")]
        _chart(asked, table, progress, quantity)
        bench_table.draw(asked.settings, table, quantity)
        _conditions(asked.settings, table)
        _formulas(asked)
        with st.container(key="bench_files", horizontal=True):
            bench_table.downloads(asked.settings, progress.measurements)
            save_as(
                "bench_chart",
                bench_table.file_name(asked.settings),
                background=theme.ink().page,
                disabled=not progress.measurements,
            )
    state.end()


def _state_of_work(progress: Progress) -> None:
    """One line of constant height, so that nothing below it moves."""
    with st.container(key="bench_progress", height=44, border=False):
        if progress.running:
            share = progress.done / progress.of if progress.of else 0.0
            st.progress(share, text=plain(work_words(progress)))
        else:
            st.caption(plain(work_words(progress)))


def work_words(progress: Progress) -> str:
    """What is being done, in words."""
    if not progress.running:
        measured = sorted({m.num_heads for m in progress.measurements})
        counts = f"Measured at {', '.join(map(str, measured))} heads." if measured else ""
        return f"{'Stopped. ' if progress.stopped else ''}{counts}"
    if progress.waiting:
        return "Another benchmark is measuring; this one has its turn next."
    heads = ""
    if progress.now is not None:
        heads = f"Measuring {progress.now} {'head' if progress.now == 1 else 'heads'}: "
    left = ""
    if progress.seconds_left is not None:
        left = f", about {max(1, round(progress.seconds_left))} s left"
    return f"{heads}{progress.done} of {progress.of} head counts done{left}"


def _chart(asked: Asked, table: "list[Row]", progress: Progress, quantity: Quantity) -> None:
    from attention.benchmark.summary import crossover, lines, sentences

    settings = asked.settings
    most = max([asked.heads, progress.most, *(row.num_heads for row in table)])
    other = bench_overlay.other_run()
    timing = Timing(
        settings, table, lines(settings, table), crossover(table), most, quantity, other
    )
    said = sentences(settings, table)
    name = f"{settings} {theme.is_dark()} {quantity.key} {id(other)}"
    said_below = "the sentence and the table below say what it shows"
    alt = f"{quantity.title} against number of heads; {said_below}."
    live_chart("bench_chart", timing_figure(timing, theme.ink()), name=name, alt=alt)
    if said:
        first, *others = map(plain, said)
        with st.container(key="bench_said"):
            st.markdown(" ".join([f"**{first}**", *others]))
    bench_overlay.say(settings, table)
    st.caption(plain(shape_words(settings, asked.heads)))


def shape_words(settings: "BenchmarkSettings", num_heads: int) -> str:
    """What d_out means here, and every shape on the way, written out."""
    from attention.benchmark.passes import PASSES

    config = settings.config(num_heads)
    d_in, d_out, dim = config.d_in, config.d_out, config.head_dim
    timed = PASSES[settings.passes]
    queries = timed.positions(settings.seq_len).queries.value
    x = (settings.batch, queries, d_in)
    heads = f"{num_heads} {'head' if num_heads == 1 else 'heads'}"
    if settings.reading == "total":
        meaning = f"d_out {d_out} is the total: {heads} of head_dim {d_out} / {num_heads} = {dim}"
    else:
        meaning = f"d_out {dim} is each head's: {heads} make {num_heads} × {dim} = {d_out}"
    loop, batch = f"{num_heads} × {(dim, d_in)}", f"{(d_out, d_in)}"
    through = f", W_O {(config.d_model, d_out)}" if config.out_proj else ", no W_O"
    out = (settings.batch, queries, config.d_model)
    # As many queries as tokens need no word; one after a text does.
    tokens = f", {timed.tokens.format(f'{settings.seq_len:,}')}" if timed.extra else ""
    return (
        f"{meaning}. Input {x}{tokens}; W_query of the loop {loop}, of the batch {batch}{through}; "
        f"output {out}."
    )


def _conditions(settings: "BenchmarkSettings", table: "list[Row]") -> None:
    from attention.benchmark import environment

    others = [m.others for row in table for m in row.by_name.values() if m.others is not None]
    load = ""
    if others:
        quiet = not any(row.disturbed for row in table)
        verdict = "quiet" if quiet else "disturbed"
        load = f" · other programs kept up to {max(others):.1f} cores busy: {verdict}"
    st.caption(plain(f"How it was measured: {environment(settings)}{load}. {METHOD}"))


def _formulas(asked: Asked) -> None:
    """How FLOPs and bytes are worked out, for the head count at which the slider stands."""
    from attention.benchmark.explain import EXPLAINED, letters, steps
    from attention.benchmark.units import in_bytes, in_flops

    place = st.expander("FLOPs, bytes and the limit: by which formula?", on_change="rerun")
    if not place.open:
        return
    found = steps(asked.settings, asked.heads)
    with place:
        st.dataframe(
            {
                "": [f"{step.implementation}: {step.step}" for step in found],
                "FLOPs": [step.flops_formula for step in found],
                "=": [in_flops(step.flops).removesuffix("/s") for step in found],
                "Bytes": [step.bytes_formula for step in found],
                "= ": [in_bytes(step.bytes) for step in found],
            },
            hide_index=True,
            height=bench_table.height(len(found)),
            key="bench_formulas",
        )
        st.caption(plain(f"{letters(asked.settings, asked.heads)}. {EXPLAINED}"))


METHOD = (
    "torch.utils.benchmark (CUDA events on a GPU), warmed up, implementations in turns; each "
    "output, pattern and gradient first compared with the same layer in float64. Points: medians; "
    "bands: p10 to p90; dashed: straight-line fit; long dashes: plain matrix products that leave "
    "the future out, in the same turns. Memory and operators are counted in a pass that is not "
    "timed."
)
