"""`Model`: the one base class. A method brings its functions; all that a user calls is here, a line or two each."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from dyads import border, fitting, parameters, verbs
from dyads.errors import ConfigError, not_fitted
from dyads.pairs import F32, F64, Csr, Pairs
from dyads.posterior import Posterior
from dyads.state import Bare, Fitted, Info, Objective, Plan, Record, RowPosterior, State
from dyads.streams import At
from dyads.vocabulary import Vocabulary


@dataclass(kw_only=True, eq=False)
class Model:
    """Fields are the hyper-parameters; what is learned ends in an underscore."""

    name: ClassVar[str]
    data: ClassVar[str]  # "binary", "counts", "ratings" or "matrix": what the cells may hold
    event: ClassVar[str]  # what the answer is the probability, rating or relevance of
    parts: ClassVar[tuple[type, ...]] = ()  # the NamedTuples of this method that stand in its files

    # --- what a method brings ---------------------------------------------------------------------------------

    @property
    def answer(self) -> str:
        """What the model's answer is: "probability", "rating" or "relevance"."""
        raise NotImplementedError

    def plan(self, pairs: Pairs, previous: tuple[Bare, ...] | None) -> Plan:
        """How long a fit of these pairs is; with `previous`, how much longer."""
        raise NotImplementedError

    def chains(self) -> int:
        """How many chains are run one after the other."""
        return 1

    def init(self, pairs: Pairs, engine: Any, at: At, previous: Bare | None = None) -> State:
        """The state to start from; `previous` is grown by new rows."""
        raise NotImplementedError

    def place(self, pairs: Pairs, engine: Any, bare: Bare) -> State:
        """A state given to an engine, with what is rebuilt from the data."""
        raise NotImplementedError

    def step(self, state: State, engine: Any, at: At, n: int) -> State:
        """n more ticks."""
        raise NotImplementedError

    def objective(self, state: State, engine: Any, at: At) -> Objective | None:
        """The bound, log joint or mean score of a state."""
        return None

    def info(self, state: State) -> Info:
        """Numbers of a state worth keeping in the trace."""
        return {}

    def read_out(self, state: State, engine: Any) -> Posterior:
        """The posterior of one state (C = 1); the loop stacks those of kept draws."""
        raise NotImplementedError

    def fold_in(self, rows: Csr, which: str, posterior: Posterior, at: At, cov: bool = False) -> RowPosterior:
        """Rows of one side, new or not, given the other side."""
        raise NotImplementedError

    def simulate(self, cells: Pairs, at: At, state: State | None = None) -> tuple[Bare, Pairs] | None:
        """New values on the given cells, from `state` or from the prior; None: no generative model."""
        return None

    # --- fit --------------------------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        show_progress: bool | None = None,
        callback: Callable[[Record], Any] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        every: int | None = None,
        resume: bool = False,
    ) -> Any:
        """Fit to Pairs, a scipy sparse matrix or an array. `y` is ignored.

        `callback` is told a Record at every mark and stops the fit by a true answer. `checkpoint` names a folder
        where the fit is kept every `every` ticks, so that `resume=True` goes on where a killed fit stood.
        """
        self.fitted_ = fitting.fit(self, X, None, show_progress, callback, (checkpoint, every, resume))
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        *,
        show_progress: bool | None = None,
        callback: Callable[[Record], Any] | None = None,
    ) -> Any:
        """Go on with more pairs: new users and items join, counts add, a newer rating replaces the older one.

        Row r of a bare matrix is row r of the matrix before it.
        """
        before = getattr(self, "fitted_", None)
        self.fitted_ = fitting.fit(self, X, before, show_progress, callback, (None, None, False))
        return self

    def fit_transform(self, X: Any, y: Any = None) -> F64:
        """The fold-in means of the rows that the model is fitted on."""
        return self.fit(X).transform(X)  # type: ignore[no-any-return]

    def transform(self, X: Any) -> F64:
        """The factors of users placed by their rows of X, given the fitted items; means of the last kept draw."""
        return verbs.factors(self, border.histories(self, X, None), "user")[0]

    def score(self, X: Any, y: Any = None) -> float:
        """How well held-out pairs are met, the higher the better.

        Mean log probability, minus the RMSE, or recall@10 among items not seen in the fit, by what the answer is.
        Matrix rows are the fitted users.
        """
        return verbs.score(self, X)

    # --- questions --------------------------------------------------------------------------------------------

    def recommend(
        self,
        userid: Any,
        user_items: Any = None,
        N: int = 10,
        filter_already_liked_items: bool = True,
        filter_items: Any = None,
        recalculate_user: bool = False,
        items: Any = None,
        *,
        rank_by: str = "answer",
        return_std: bool = False,
    ) -> tuple[Any, ...]:
        """The best items of one user (1-D) or several (2-D): ids and scores, padded with None (or -1) and -inf.

        `user_items`: the users' pairs; a matrix holds one row per asked user, Pairs or a mapping are looked up by id,
        None takes the pairs of the fit. With `recalculate_user` users are placed by them, so they may be new.
        `rank_by`: "answer", or "mean" of the latent value (the answer where a model has none, as Popularity).
        `return_std` adds the standard deviation of each answer.
        """
        question = verbs.Question(N, filter_already_liked_items, filter_items, items, rank_by, return_std)
        return verbs.recommend(self, userid, user_items, recalculate_user, question)

    def similar_items(
        self,
        itemid: Any,
        N: int = 10,
        recalculate_item: bool = False,
        item_users: Any = None,
        filter_items: Any = None,
        items: Any = None,
    ) -> tuple[Any, F64]:
        """The items nearest by the cosine of their factors, the item itself first: ids and cosines."""
        rows = verbs.asked_rows(self, itemid, item_users, recalculate_item, "item")
        return verbs.similar(self, itemid, rows, N, (filter_items, items), "item")

    def similar_users(self, userid: Any, N: int = 10, filter_users: Any = None, users: Any = None) -> tuple[Any, F64]:
        """The users nearest by the cosine of their factors, the user itself first: ids and cosines."""
        rows = verbs.asked_rows(self, userid, None, False, "user")
        return verbs.similar(self, userid, rows, N, (filter_users, users), "user")

    def recalculate_user(self, userid: Any, user_items: Any, return_cov: bool = False) -> Any:
        """Factors of users placed by `user_items`, and on request their covariance."""
        return verbs.recalculate(self, userid, user_items, "user", return_cov)

    def recalculate_item(self, itemid: Any, item_users: Any, return_cov: bool = False) -> Any:
        """Factors of items placed by `item_users`, and on request their covariance."""
        return verbs.recalculate(self, itemid, item_users, "item", return_cov)

    def predict_pairs(self, pairs: Any, return_std: bool = False, *, with_noise: bool = False) -> Any:
        """The answer for (user, item) pairs; `return_std` adds its standard deviation.

        That deviation is of not knowing the parameters; `with_noise` adds the noise of one new value around its mean,
        which ratings have.
        """
        users, items = border.pair_numbers(self, pairs)
        return verbs.predict(self, users, items, return_std, with_noise)

    def save(self, path: str | os.PathLike[str], *, pairs: bool = True) -> None:
        """Write the model to a file; `pairs=False` leaves out the pairs it was fitted on."""
        from dyads.save import save_model

        save_model(self, path, pairs=pairs)

    # --- what is learned --------------------------------------------------------------------------------------

    def _learned(self) -> Fitted:
        fitted: Fitted | None = self.__dict__.get("fitted_")
        if fitted is None:
            raise not_fitted(type(self).__name__)
        return fitted

    @property
    def posterior_(self) -> Posterior:
        """The posterior of everything."""
        return self._learned().posterior

    @property
    def pairs_(self) -> Pairs:
        """The pairs of the fit."""
        pairs = self._learned().pairs
        if pairs is None:
            raise ConfigError("this model was saved with pairs=False: give the users' pairs as user_items")
        return pairs

    @property
    def users_(self) -> Vocabulary:
        """The user ids."""
        return self._learned().users

    @property
    def items_(self) -> Vocabulary:
        """The item ids."""
        return self._learned().items

    @property
    def seed_(self) -> int:
        """The seed of the fit; given as `random_state` it repeats the fit."""
        return self._learned().seed

    @property
    def n_iter_(self) -> int:
        """Ticks done: sweeps, or minibatches."""
        return self._learned().states[-1].tick

    @property
    def trace_(self) -> tuple[Record, ...]:
        """What was recorded at every mark."""
        return self._learned().trace

    @property
    def n_features_in_(self) -> int:
        """How many items the model knows."""
        return len(self._learned().items)

    @property
    def user_factors_(self) -> F32:
        """Factors of the users: (users, n_factors); of a sampler those of the last kept draw."""
        return np.asarray(self.posterior_.user[-1, :, : self.posterior_.n_factors])

    @property
    def item_factors_(self) -> F32:
        """Factors of the items: (items, n_factors); of a sampler those of the last kept draw."""
        return np.asarray(self.posterior_.item[-1, :, : self.posterior_.n_factors])

    user_factors = user_factors_
    item_factors = item_factors_

    @property
    def user_bias_(self) -> F32:
        """Biases of the users, zero where the method has none; of a sampler those of the last kept draw."""
        return verbs.bias(self.posterior_, "user")

    @property
    def item_bias_(self) -> F32:
        """Biases of the items, zero where the method has none; of a sampler those of the last kept draw."""
        return verbs.bias(self.posterior_, "item")

    # --- scikit-learn's manners -------------------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The hyper-parameters by name."""
        return {name: getattr(self, name) for name in parameters.names(self)}

    def set_params(self, **values: Any) -> Any:
        """Set hyper-parameters by name."""
        for name, value in values.items():
            if name not in parameters.names(self):
                known = ", ".join(parameters.names(self))
                raise ConfigError(f"{type(self).__name__} has no parameter {name!r}: it has {known}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        given = ((f.name, getattr(self, f.name), f.default) for f in fields(self))
        changed = [f"{name}={value!r}" for name, value, usual in given if repr(value) != repr(usual)]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_tags__(self) -> Any:
        from dyads.sklearn_tags import tags

        return tags(self)
