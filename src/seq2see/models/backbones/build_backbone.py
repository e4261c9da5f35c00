"""From the names of backbones to networks."""

from collections.abc import Sequence

from jaxtyping import UInt8
from torch import Tensor

from seq2see.core.errors import ConfigError
from seq2see.core.registry import suggest
from seq2see.models.backbones.backbone import Backbone, FeatureMap
from seq2see.models.backbones.efficientnet_lite import EfficientNetLite
from seq2see.models.backbones.hugging_face import HUGGING_FACE_PREFIX, HuggingFaceBackbone
from seq2see.models.backbones.small_cnn import SMALL_CNNS
from seq2see.nn.module_list import TypedModuleList


def build_backbone(name: str | Sequence[str], *, image_size: int) -> Backbone:
    """Build the backbone of a name, or an ensemble of several names.

    Args:
        name: efficientnet_lite0 to 2, small, cells, or transformers:NAME_OR_FOLDER; or several pretrained ones.
        image_size: pixels a side of an image.
    """
    if not isinstance(name, str):
        return BackboneEnsemble([build_backbone(each, image_size=image_size) for each in name])
    if name.startswith(HUGGING_FACE_PREFIX):
        return HuggingFaceBackbone(name.removeprefix(HUGGING_FACE_PREFIX), image_size=image_size)
    if name in EfficientNetLite.sizes:
        return EfficientNetLite(name, image_size=image_size)
    if name in SMALL_CNNS:
        return SMALL_CNNS[name]()
    known = [*EfficientNetLite.sizes, *SMALL_CNNS, f"{HUGGING_FACE_PREFIX}NAME_OR_FOLDER"]
    raise ConfigError(f"there is no backbone named {name!r}{suggest(name, known)} (known: {', '.join(known)}).")


class BackboneEnsemble(Backbone):
    """Runs several pretrained backbones: the maps of the first, then those of the next.

    Args:
        nets: the backbones, all pretrained.
    """

    pretrained = True

    def __init__(self, nets: Sequence[Backbone]) -> None:
        super().__init__()
        if not nets or not all(net.pretrained for net in nets):
            raise ConfigError(
                f"several backbones must all be pretrained; {', '.join(SMALL_CNNS)} are not, so use one of them."
            )
        self.nets: TypedModuleList[Backbone] = TypedModuleList(nets)

    def forward(self, pixels: UInt8[Tensor, "b 3 y x"]) -> list[FeatureMap]:
        """Return the maps of all backbones, one backbone after the other.

        Args:
            pixels: images of three channels from 0 to 255, [b 3 y x].
        """
        return [each for net in self.nets for each in net(pixels)]

    @property
    def for_inference(self) -> "BackboneEnsemble":
        """Return an ensemble of the same networks for inference alone."""
        return BackboneEnsemble([net.for_inference for net in self.nets])

    def fingerprint(self) -> str:
        return " ".join(net.fingerprint() for net in self.nets)
