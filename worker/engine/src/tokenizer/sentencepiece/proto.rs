//! The fields of `sentencepiece_model.proto` that encoding and decoding need, with that file's numbers and defaults.

/// `ModelProto`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ModelProto {
    #[prost(message, repeated, tag = "1")]
    pub(super) pieces: Vec<PieceProto>,
    #[prost(message, optional, tag = "2")]
    pub(super) trainer_spec: Option<TrainerSpec>,
    #[prost(message, optional, tag = "3")]
    pub(super) normalizer_spec: Option<NormalizerSpec>,
    #[prost(message, optional, tag = "5")]
    pub(super) denormalizer_spec: Option<NormalizerSpec>,
}

/// `ModelProto.SentencePiece`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct PieceProto {
    #[prost(string, optional, tag = "1")]
    pub(super) piece: Option<String>,
    #[prost(float, optional, tag = "2")]
    pub(super) score: Option<f32>,
    #[prost(int32, optional, tag = "3", default = "1")]
    pub(super) kind: Option<i32>,
}

/// `TrainerSpec`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct TrainerSpec {
    #[prost(int32, optional, tag = "3", default = "1")]
    pub(super) model_type: Option<i32>,
    #[prost(bool, optional, tag = "24")]
    pub(super) treat_whitespace_as_suffix: Option<bool>,
    #[prost(bool, optional, tag = "35")]
    pub(super) byte_fallback: Option<bool>,
    #[prost(string, optional, tag = "44")]
    pub(super) unk_surface: Option<String>,
    #[prost(string, optional, tag = "46")]
    pub(super) bos_piece: Option<String>,
    #[prost(string, optional, tag = "47")]
    pub(super) eos_piece: Option<String>,
}

/// `NormalizerSpec`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct NormalizerSpec {
    #[prost(bytes = "vec", optional, tag = "2")]
    pub(super) precompiled_charsmap: Option<Vec<u8>>,
    #[prost(bool, optional, tag = "3", default = "true")]
    pub(super) add_dummy_prefix: Option<bool>,
    #[prost(bool, optional, tag = "4", default = "true")]
    pub(super) remove_extra_whitespaces: Option<bool>,
    #[prost(bool, optional, tag = "5", default = "true")]
    pub(super) escape_whitespaces: Option<bool>,
}
