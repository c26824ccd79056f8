from __future__ import annotations

import csv
import io
import json

import numpy as np
import polars
import pytest

import dyads


def rows(text):
    return [
        (user, int(place), item, float(score)) for user, place, item, score in list(csv.reader(io.StringIO(text)))[1:]
    ]


def test_the_answer_is_the_models(dyads_, shop):
    done = dyads_("recommend", shop, "--user", "ann.baker", "--user", "hugo.baker", "-n", 3, "--as", "csv")
    ids, scores = dyads.load(shop).recommend(["ann.baker", "hugo.baker"], N=3)
    wanted = [
        (user, place + 1, ids[row, place], scores[row, place])
        for row, user in enumerate(["ann.baker", "hugo.baker"])
        for place in range(3)
    ]
    assert done.code == 0
    assert rows(done.out) == wanted


def test_the_screen_shows_names_places_and_what_the_answer_is(dyads_, shop):
    done = dyads_("recommend", shop, "--user", "ann.baker", "-n", 2)
    lines = done.out.splitlines()
    assert lines[0].split() == ["user", "place", "item", "relevance"]
    assert len(lines) == 4
    assert lines[2].startswith("ann.baker")


def test_users_come_from_a_file_or_the_input(dyads_, shop, tmp_path):
    listed = tmp_path / "users.txt"
    listed.write_text("\ufeffann.baker\r\n\r\nhugo.baker\n", encoding="utf-8")
    done = dyads_("recommend", shop, "--users-from", listed, "-n", 1, "--as", "json")
    assert [row["user"] for row in json.loads(done.out)] == ["ann.baker", "hugo.baker"]


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_all_users_go_to_a_file(dyads_, shop, tmp_path, form):
    path = tmp_path / f"all.{form}"
    assert dyads_("recommend", shop, "--all", "-n", 4, "-o", path) == (0, "", "")
    frame = {"csv": polars.read_csv, "json": polars.read_json, "parquet": polars.read_parquet}[form](path)
    model = dyads.load(shop)
    ids, scores = model.recommend(model.users_.ids(), N=4)
    assert frame["user"].to_list() == np.repeat(model.users_.ids(), 4).tolist()
    assert frame["item"].to_list() == ids.ravel().tolist()
    assert frame["relevance"].to_list() == scores.ravel().tolist()


def test_fewer_candidates_than_asked_for_are_fewer_rows(dyads_, shop, log):
    done = dyads_("recommend", shop, "--user", "ann.baker", "-n", 500, "--as", "csv")
    bought = log.by_user.counts()[log.users.number("ann.baker")]
    assert len(rows(done.out)) == len(log.items) - bought
    done = dyads_("recommend", shop, "--user", "ann.baker", "-n", 500, "--as", "csv", "--with-liked")
    assert len(rows(done.out)) == len(log.items)


def test_ids_that_are_numbers_and_the_spread_of_draws(dyads_, rated):
    done = dyads_("recommend", rated, "--user", 7, "-n", 2, "--std", "--as", "json")
    ids, scores, std = dyads.load(rated).recommend(7, N=2, return_std=True)
    wanted = [{"user": 7, "place": n + 1, "item": int(ids[n]), "rating": scores[n], "std": std[n]} for n in range(2)]
    assert json.loads(done.out) == wanted
    assert (std > 0).all()


def test_what_is_ranked_by_names_the_column(dyads_, rated):
    done = dyads_("recommend", rated, "--user", 7, "--rank-by", "mean", "--as", "csv")
    assert done.out.splitlines()[0] == '"user","place","item","mean"'


def test_new_users_are_placed_by_a_file(dyads_, shop, tmp_path):
    history = tmp_path / "today.csv"
    history.write_text("shopper,product\nnew,soy sauce\nnew,wasabi\nother,flour\n")
    done = dyads_("recommend", shop, "--history", history, "-n", 3, "--as", "csv")
    given = {"new": ["soy sauce", "wasabi"], "other": ["flour"]}
    ids, _ = dyads.load(shop).recommend(["new", "other"], given, N=3, recalculate_user=True)
    assert [row[2] for row in rows(done.out)] == ids.ravel().tolist()
    only = dyads_("recommend", shop, "--history", history, "--user", "other", "-n", 3, "--as", "csv")
    assert [row[2] for row in rows(only.out)] == ids[1].tolist()


def test_a_history_of_ratings_has_a_third_column(dyads_, rated, tmp_path):
    history = tmp_path / "today.csv"
    history.write_text("value,user,item\n5,100,3\n1,100,4\n")
    done = dyads_("recommend", rated, "--history", history, "--columns", "user,item,value", "--as", "csv", "-n", 1)
    ids, _ = dyads.load(rated).recommend(100, {100: {3: 5.0, 4: 1.0}}, N=1, recalculate_user=True)
    assert rows(done.out)[0][:3] == ("100", 1, str(ids[0]))


def test_unknown_items_of_a_history_are_left_out_with_a_line(dyads_, shop, tmp_path):
    history = tmp_path / "today.csv"
    history.write_text("shopper,product\nnew,soy sauce\nnew,moon dust\n")
    done = dyads_("recommend", shop, "--history", history, "-n", 1)
    assert done.code == 0
    assert done.err.startswith("dyads: 1 of 2 items of the given histories, such as 'moon dust'")
    assert done.err.count("\n") == 1


def test_users_who_have_everything_are_counted(dyads_, tmp_path):
    (tmp_path / "log.csv").write_text("user,item\nann,milk\nann,tea\nben,tea\n")
    assert dyads_("fit", tmp_path / "log.csv", "-o", tmp_path / "m.dyads", "-q").code == 0
    done = dyads_("recommend", tmp_path / "m.dyads", "--all", "--as", "csv")
    assert done.out.count("\n") == 2 and '"ben",1,"milk"' in done.out
    assert done.err == "nothing new is left for 1 of 2 users, who have every item: --with-liked gives those too\n"
    assert dyads_("recommend", tmp_path / "m.dyads", "--all", "--with-liked").err == ""
