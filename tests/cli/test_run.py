import errno
import os
import zipfile

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from attention.cli import files, main
from attention.loading import load_model
from tests.builders import assert_arrays_close

TEXT = "Seán the cat\n the cat"


@pytest.fixture
def out(tmp_path):
    return tmp_path / "run.npz"


def loaded(path):
    with np.load(path, allow_pickle=False) as archive:
        return dict(archive)


# ------------------------------------------------------------------ what is written


def test_file_holds_the_run(model_folder, out, capsys):
    assert main(["run", "--model", model_folder, "--text", TEXT, "--out", str(out)]) == 0
    assert capsys.readouterr().out.startswith(f"{out}: 11 tokens, 2 × 3 patterns, sdpa on cpu")
    written, record = loaded(out), load_model(model_folder).run(TEXT)
    assert set(written) == {"ids", "labels", "offsets", "logits", "layers", "heads", "pattern"}
    assert written["ids"].tolist() == list(record.tokens.ids)
    assert written["labels"].tolist() == list(record.tokens.labels)
    assert written["offsets"].tolist() == [list(span) for span in record.tokens.offsets]
    assert_arrays_close(written["logits"], record.logits)
    assert written["pattern"].shape == (2, 3, 11, 11)
    assert written["pattern"].dtype == np.float32
    for layer in range(2):
        assert_arrays_close(written["pattern"][layer], record.layer_pattern(layer))


def test_offsets_give_the_text_back(model_folder, out):
    main(["run", "--model", model_folder, "--text", TEXT, "--out", str(out)])
    spans = [TEXT[start:end] for start, end in loaded(out)["offsets"]]
    assert "".join(dict.fromkeys(spans[:6])) == "Seán"
    assert spans[-2:] == [" the", " cat"]


@pytest.mark.parametrize(
    ("options", "layers", "heads"),
    [
        (["--layer", "1"], [1], [0, 1, 2]),
        (["--head", "2"], [0, 1], [2]),
        (["--layer", "0", "--head", "1"], [0], [1]),
    ],
)
def test_part_asked_for_keeps_its_numbers(ids_folder, out, options, layers, heads):
    # Filtered heads were once renumbered from 0.
    run = ["run", "--model", ids_folder, "--ids", "7 1 2 3 1 2 3", "--out", str(out), *options]
    assert main(run) == 0
    written, record = loaded(out), load_model(ids_folder).run([7, 1, 2, 3, 1, 2, 3])
    assert (written["layers"].tolist(), written["heads"].tolist()) == (layers, heads)
    assert written["pattern"].shape == (len(layers), len(heads), 7, 7)
    for i, layer in enumerate(layers):
        for j, head in enumerate(heads):
            assert_arrays_close(written["pattern"][i, j], record.pattern(layer, head))


def test_ids_are_run_as_they_are(ids_folder, out):
    assert main(["run", "--model", ids_folder, "--ids", "7, 1,2  3", "--out", str(out)]) == 0
    written = loaded(out)
    assert written["ids"].tolist() == [7, 1, 2, 3]
    assert written["labels"].tolist() == ["7", "1", "2", "3"]
    assert written["offsets"].tolist() == [[0, 0]] * 4


def test_single_token_is_a_map_of_one_cell(ids_folder, out):
    assert main(["run", "--model", ids_folder, "--ids", "7", "--out", str(out)]) == 0
    assert_arrays_close(loaded(out)["pattern"], np.ones((2, 3, 1, 1)))


def test_text_file_is_read_as_it_is(model_folder, out, tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes("a\r\nSeán".encode())
    assert main(["run", "--model", model_folder, "--text-file", str(path), "--out", str(out)]) == 0
    assert loaded(out)["labels"].tolist()[:4] == ["<bos>", "a", "\\r", "\\n"]


@pytest.mark.parametrize("name", ["reference", "looped", "batched", "fused"])
def test_implementation_is_chosen_by_name(ids_folder, tmp_path, name):
    common = ["run", "--model", ids_folder, "--ids", "7 1 2 3 1", "--implementation"]
    assert main([*common, name, "--out", str(tmp_path / "a.npz")]) == 0
    assert main([*common, "sdpa", "--out", str(tmp_path / "b.npz")]) == 0
    a, b = loaded(tmp_path / "a.npz"), loaded(tmp_path / "b.npz")
    assert_arrays_close(a["logits"], b["logits"], rtol=1e-4, atol=1e-4)


def test_knocked_out_heads_change_the_logits(ids_folder, out):
    ids = [7, 1, 2, 3]
    run = ["run", "--model", ids_folder, "--ids", "7 1 2 3", "--out", str(out)]
    assert main([*run, "--ablate", "0.1", "--ablate", "1.2"]) == 0
    model = load_model(ids_folder)
    expected = model.run(ids, ablate={(0, 1), (1, 2)}).logits
    assert_arrays_close(loaded(out)["logits"], expected)
    assert (expected - model.run(ids).logits).abs().max() > 0.1


def test_narrow_dtype_is_written_as_float32(ids_folder, out):
    run = ["run", "--model", ids_folder, "--ids", "7 1", "--dtype", "bfloat16", "--out", str(out)]
    assert main(run) == 0
    assert {loaded(out)[key].dtype for key in ("pattern", "logits")} == {np.dtype(np.float32)}


def test_older_file_is_replaced(ids_folder, out):
    out.write_text("old")
    assert main(["run", "--model", ids_folder, "--ids", "7 1", "--out", str(out)]) == 0
    assert zipfile.is_zipfile(out)
    assert [path.name for path in out.parent.iterdir()] == [out.name]


# ------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--text", ""], "text must hold at least one character; got none."),
        (["--text", "a\ud83d"], "text must be valid Unicode; character 2 is U+D83D, half of"),
        (["--text", "é" * 50_000], "text must be at most 61 tokens long"),
        (["--ids", ""], "text must hold at least one token; got none."),
        (["--ids", "1 x"], "token ids must be whole numbers such as '1 2 3'; got 'x'."),
        (["--ids", "1.5"], "token ids must be whole numbers such as '1 2 3'; got '1.5'."),
        (["--ids", "٣"], "token ids must be whole numbers such as '1 2 3'; got '٣'."),
        (["--ids", "9" * 5000], "token ids must be whole numbers"),
        (["--ids", "-1"], "token ids must be 0 to 299; got -1."),
        (["--ids", "300"], "token ids must be 0 to 299; got 300."),
        (["--ids", "1", "--text", "a"], "give one of --text, --text-file and --ids."),
        ([], "give one of --text, --text-file and --ids."),
        (["--ids", "1", "--layer", "2"], "layer must be 0 to 1; got 2."),
        (["--ids", "1", "--layer", "-1"], "layer must be 0 to 1; got -1."),
        (["--ids", "1", "--head", "3"], "head must be 0 to 2; got 3."),
        (["--ids", "1", "--layer", "x"], "Invalid value for '--layer': 'x' is not a valid"),
        (
            ["--ids", "1", "--ablate", "3"],
            "Invalid value for '--ablate': a head must be LAYER.HEAD",
        ),
        (["--ids", "1", "--ablate", "0.3"], "head must be 0 to 2; got 3."),
        (["--ids", "1", "--implementation", "flash"], "implementation must be one of reference"),
        (["--ids", "1", "--device", "gpu"], "device must be one of cpu"),
        (["--ids", "1", "--dtype", "int8"], "dtype must be one of float32, bfloat16, float16"),
    ],
)
def test_bad_input_is_one_sentence_and_writes_nothing(
    model_folder, out, refused, options, sentence
):
    assert refused("run", "--model", model_folder, "--out", out, *options).startswith(sentence)
    assert not list(out.parent.iterdir())


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_cuda_where_there_is_none_is_refused_with_what_can_be_used(ids_folder, out, refused):
    sentence = refused("run", "--model", ids_folder, "--ids", "1", "--device", "cuda", "--out", out)
    assert sentence.startswith("device cuda cannot be used here: ")
    assert "Usable here: cpu" in sentence


def test_text_for_a_model_without_a_tokenizer_is_refused(ids_folder, out, refused):
    sentence = refused("run", "--model", ids_folder, "--text", "a", "--out", out)
    assert sentence.endswith("has no tokenizer; give token ids instead of text.")


def test_model_that_does_not_exist_is_refused(out, refused):
    sentence = refused("run", "--model", out.parent / "none", "--ids", "1", "--out", out)
    assert sentence.startswith("model must be 'embedded', a folder, a file")


def test_nan_weights_are_refused(ids_folder, tmp_path, out, refused):
    import shutil

    folder = shutil.copytree(ids_folder, tmp_path / "nan")
    tensors = load_file(folder / "model.safetensors")
    tensors["model.norm.weight"][0] = torch.nan
    save_file(tensors, folder / "model.safetensors")
    sentence = refused("run", "--model", folder, "--ids", "1", "--out", out)
    assert "model.norm.weight" in sentence
    assert sentence.endswith("must be finite; it holds NaN or infinity.")
    assert not out.exists()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "No such file or directory."),
        (b"caf\xe9", "text file must be UTF-8; "),
        (b"\xff\xfea\x00", "text file must be UTF-8; "),
        (b"", "text must hold at least one character; got none."),
    ],
)
def test_text_file_that_cannot_be_read_is_refused(
    model_folder, out, tmp_path, refused, content, sentence
):
    path = tmp_path / "text.txt"
    if content is not None:
        path.write_bytes(content)
    told = refused("run", "--model", model_folder, "--text-file", path, "--out", out)
    assert sentence in told
    assert not out.exists()


def test_folder_in_place_of_a_text_file_is_refused(model_folder, out, tmp_path, refused):
    told = refused("run", "--model", model_folder, "--text-file", tmp_path, "--out", out)
    assert told.startswith("text file must be readable")


# ------------------------------------------------------------------ the file itself


def test_missing_folder_of_the_output_is_refused_before_the_model_is_opened(out, refused):
    place = out.parent / "missing" / "run.npz"
    sentence = refused("run", "--model", "none", "--ids", "1", "--out", place)
    assert sentence == f"--out must be in a folder that exists; {str(place.parent)!r} does not."


def test_folder_in_place_of_the_output_is_refused(out, refused):
    sentence = refused("run", "--model", "none", "--ids", "1", "--out", out.parent)
    assert sentence == f"--out must be a file; {str(out.parent)!r} is a folder."


def test_full_disk_leaves_the_older_file_and_no_other(ids_folder, out, refused, monkeypatch):
    out.write_text("old")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files, "_write_array", full)
    sentence = refused("run", "--model", ids_folder, "--ids", "1", "--out", out)
    assert sentence == f"--out must be writable; {str(out)!r}: No space left on device."
    assert out.read_text() == "old"
    assert [path.name for path in out.parent.iterdir()] == [out.name]


def test_interrupted_run_leaves_nothing_half_written(ids_folder, out, monkeypatch):
    write = files._write_array

    def stop_at_the_pattern(archive, name, *rest):
        if name == "pattern":
            raise KeyboardInterrupt
        write(archive, name, *rest)

    monkeypatch.setattr(files, "_write_array", stop_at_the_pattern)
    assert main(["run", "--model", ids_folder, "--ids", "1 2", "--out", str(out)]) == 130
    assert not list(out.parent.iterdir())


def test_written_file_can_be_read_by_others_as_any_new_file(ids_folder, out):
    main(["run", "--model", ids_folder, "--ids", "1 2", "--out", str(out)])
    other = out.with_name("other")
    other.write_text("")
    assert out.stat().st_mode == other.stat().st_mode


def test_file_name_that_is_too_long_is_one_sentence(tmp_path):
    with pytest.raises(files.OutputError, match="--out must be writable; "):
        files.check_output(tmp_path / ("x" * 300))


def test_what_is_no_ordinary_file_is_not_replaced(tmp_path):
    # A file that is written whole takes the place of what was there: of /dev/null, too.
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(files.OutputError, match=r"--out must be an ordinary file; .* is none"):
        files.check_output(path)
    assert path.is_fifo()
