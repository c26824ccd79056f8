"""What scikit-learn asks a model about itself; the only file that imports scikit-learn, and only when it asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dyads.model import Model


def tags(model: Model) -> Any:
    """scikit-learn's tags: a transformer of sparse or dense matrices that needs no target."""
    from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

    takes_any_value = model.data in ("ratings", "matrix") or getattr(model, "binarize", None) is not None
    return Tags(
        estimator_type="transformer",
        target_tags=TargetTags(required=False),
        transformer_tags=TransformerTags(preserves_dtype=["float64"]),
        input_tags=InputTags(sparse=True, positive_only=not takes_any_value),
    )
