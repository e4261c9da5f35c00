"""What is computed about an output: attention maps, alternatives, alignments, statistics and occlusion.

Everything about a text goes through one teacher-forced pass (`tasks.replay`). The results are values (`OutputTrace`)
that draw nothing: the renderer of their kind does. Give `seq2see.record` a PyTorch model of your own, or
`seq2see.from_arrays` its weights, to get the same traces without the rest of the package. A new kind of trace is a
subclass of `OutputTrace` here and a renderer under its `kind` in the registry.
"""

__all__ = [
    "alternatives",
    "attention_agreement",
    "attention_trace",
    "classifier_attention",
    "copy_unknown",
    "cross_attention",
    "document_attention",
    "document_trace",
    "forced_output",
    "from_arrays",
    "head_alignment",
    "image_grid",
    "occlusion",
    "output_trace",
    "position_cosines",
    "record",
    "rollout",
    "statistics",
    "text_attention",
]
