from __future__ import annotations

import pytest

from dyads import synthetic

LOG = str(synthetic.SHIPPED)
MISTAKES = [
    ("nope", "No such command 'nope'"),
    ("fit", "Missing argument 'DATA'"),
    ("fit {log}", "Missing option '--output' / '-o'"),
    ("fit {log} -o m.dyads --colour red", "--colour"),
    ("fit missing.csv -o m.dyads", "missing.csv"),
    ("fit . -o m.dyads", "."),
    ("fit {log} -o nowhere/m.dyads", "nowhere is no folder"),
    ("fit {log} -o .", "--output . is a folder"),
    ("fit {log} -o {log}", "is what is read from"),
    ("fit {log} -o /dev/null", "/dev/null is a device, pipe or socket"),
    ("fit {log} -o m.dyads --model als", "model 'als' is unknown: it is one of popularity, bpr, sbmf"),
    ("fit {log} -o m.dyads --user shop", "'shop'"),
    ("fit {log} -o m.dyads --user 7", "7"),
    ("fit {log} -o m.dyads --value product", "both mean column 'product'"),
    ("fit {log} -o m.dyads --delimiter ;", ";"),
    ("fit {log} -o m.dyads --format xls", "format='xls' is unknown"),
    ("fit {log} -o m.dyads --duplicates twice", "duplicates='twice' is unknown"),
    ("fit {log} -o m.dyads --model sbmf", "SBMF learns from ratings: name their column"),
    ("fit {log} -o m.dyads --set n_factors", "--set 'n_factors' is not NAME=VALUE"),
    ("fit {log} -o m.dyads --set n_factors=2.5", "BPR(n_factors=2.5) cannot be: give a whole number of at least 0"),
    ("fit {log} -o m.dyads --set learning_rate=nan", "BPR(learning_rate=nan) cannot be"),
    ("fit {log} -o m.dyads --set factors=2", "BPR has no parameter 'factors': it has n_factors"),
    ("fit {log} -o m.dyads --set tol=1 --set tol=2", "--set tol=2 comes after another tol"),
    ("fit {log} -o m.dyads --seed 1 --set random_state=2", "--seed 1 and --set random_state"),
    ("fit {log} -o m.dyads --seed -1", "BPR(random_state=-1) cannot be"),
    ("fit {log} -o m.dyads --jobs 0", "BPR(n_jobs=0) cannot be"),
    ("fit {log} -o m.dyads --set device=cuda", "device='cuda' is not there"),
    ("fit {log} -o m.dyads --resume", "--resume is for a fit that is kept in a folder"),
    ("fit {log} -o m.dyads --every 3", "--every is for a fit that is kept in a folder"),
    ("fit {log} -o m.dyads --checkpoint kept --every 0", "'--every': 0 is not in the range x>=1"),
    ("fit {log} -o m.dyads --checkpoint {log}", "cannot be used"),
    ("recommend missing.dyads --all", "missing.dyads is not there"),
    ("recommend {log} --all", "is no file of dyads"),
    ("recommend {shop}", "nobody is asked about"),
    ("recommend {shop} --user ann.baker --all", "three ways to say for whom"),
    ("recommend {shop} --user ann", "user 'ann' is not known"),
    ("recommend {rated} --user ann", "user 'ann' is not known: ids here are whole numbers"),
    ("recommend {rated} --user 07", "did you mean 7?"),
    ("recommend {shop} --users-from missing.txt", "missing.txt"),
    ("recommend {shop} --users-from {empty}", "holds no ids"),
    ("recommend {shop} --users-from {shop}", "is not UTF-8"),
    ("recommend {shop} --all -n 0", "'-n': 0 is not in the range x>=1"),
    ("recommend {shop} --all -o all.xlsx", "all.xlsx has no ending that names a table"),
    ("recommend {shop} --all -o nowhere/all.csv", "nowhere is no folder"),
    ("recommend {shop} --all --as xml", "'xml' is not one of 'csv', 'json', 'table'"),
    ("recommend {shop} --all --rank-by taste", "rank_by='taste' is unknown"),
    ("recommend {shop} --all --std", "BPR is a point estimate and has no spread"),
    ("recommend {shop} --history missing.csv", "missing.csv"),
    ("recommend {shop} --history {log} --user nobody", "user 'nobody' is not known"),
    ("recommend {shop} --history {log} --columns 1", "--columns 1 does not name two or three columns"),
    ("evaluate", "name a file of pairs as DATA"),
    ("evaluate {log} --model bpr,bpr", "--model bpr,bpr names a model twice"),
    ("evaluate {log} --model bpr,als", "model 'als' is unknown"),
    ("evaluate {log} --model {shop}", "was fitted before any split could be made"),
    ("evaluate {log} --split thirds", "'thirds' is not one of"),
    ("evaluate {log} --share 0.5", "--share 0.5 is for --split fraction"),
    ("evaluate {log} --split fraction --share 2", "share=2.0"),
    ("evaluate {log} --test {log} --split cells", "--split cuts DATA"),
    ("evaluate {log} --metric joy", "metric 'joy' is unknown"),
    ("evaluate {log} --set tol.x=1", "there is no model 'tol' in bpr"),
    ("evaluate {log} --set burn_in=1", "there is no parameter 'burn_in' in bpr"),
    ("evaluate --model {shop} --test {log}", "stand in train and in test"),
    ("info missing.dyads", "missing.dyads is not there"),
    ("demo --copy nowhere/log.csv", "nowhere is no folder"),
]


@pytest.mark.parametrize(("line", "named"), MISTAKES, ids=[line for line, _ in MISTAKES])
def test_a_mistake_is_one_sentence_and_exit_code_2(dyads_, shop, rated, tmp_path, monkeypatch, line, named):
    empty = tmp_path / "empty.txt"
    empty.write_text("\n")
    monkeypatch.chdir(tmp_path)
    words = line.format(log=LOG, shop=shop, rated=rated, empty=empty).split()
    done = dyads_(*words)
    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith("dyads: ")
    assert done.err.count("\n") == 1
    assert named in done.err
    assert sorted(path.name for path in tmp_path.iterdir()) in (["empty.txt"], ["empty.txt", "kept"])


def test_a_used_folder_without_resume_is_refused(dyads_, tmp_path):
    given = ("fit", LOG, "--model", "popularity", "-q", "--checkpoint", tmp_path / "kept", "-o", tmp_path / "m.dyads")
    assert dyads_(*given).code == 0
    again = dyads_(*given)
    assert again.code == 2
    assert "holds a fit: add --resume to go on with it, or name another folder" in again.err
    other = dyads_(*given, "--resume", "--set", "prior_concentration=3")
    assert other.code == 2
    assert "prior_concentration was 1.0 there and is 3 now" in other.err


def test_a_variable_that_cannot_be_is_said_by_the_doctor_after_the_rest(dyads_, monkeypatch):
    monkeypatch.setenv("DYADS_THREADS", "many")
    done = dyads_("doctor")
    assert done.code == 2
    assert "DYADS_THREADS='many' is not a number of threads" in done.err
    assert "DYADS_KERNELS" in done.out


def test_running_out_of_memory_is_a_sentence(dyads_, shop, monkeypatch):
    def load(path):
        raise MemoryError("Unable to allocate 8.00 EiB")

    monkeypatch.setattr("dyads.load", load, raising=False)
    done = dyads_("recommend", shop, "--all")
    assert (done.code, done.err) == (
        2,
        "dyads: memory ran out (Unable to allocate 8.00 EiB): take a machine with more, or less data\n",
    )


def test_what_is_no_mistake_of_the_user_is_not_hidden(dyads_, shop, monkeypatch):
    monkeypatch.setattr("dyads.load", lambda path: 1 / 0, raising=False)
    with pytest.raises(ZeroDivisionError):
        dyads_("recommend", shop, "--all")
