//! A byte-level BPE vocabulary of 512 tokens with single digits.

use std::path::Path;
use tokenizers::models::bpe::{BPE, BpeTrainer};
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::digits::Digits;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::processors::template::TemplateProcessing;
use tokenizers::{AddedToken, Tokenizer, TokenizerImpl};

/// Size of the vocabulary, including special tokens and single bytes.
pub(crate) const SIZE: usize = 512;
/// Ids of the special tokens.
pub(crate) const BOS: u32 = 0;
pub(crate) const EOS: u32 = 1;

/// Learns merges from documents and writes tokenizer.json; the post-processor adds BOS.
pub(crate) fn train(documents: &[String], path: &Path) -> tokenizers::Result<Tokenizer> {
    let bytes = ByteLevel::new(false, true, true);
    let mut tokenizer =
        TokenizerImpl::<BPE, tokenizers::NormalizerWrapper, Sequence, TemplateProcessing, ByteLevel>::new(
            BPE::default(),
        );
    tokenizer.with_pre_tokenizer(Some(Sequence::new(vec![Digits::new(true).into(), bytes.into()])));
    tokenizer.with_decoder(Some(bytes));
    let special = ["<s>", "</s>"].map(|text| AddedToken::from(text, true));
    let mut trainer = BpeTrainer::builder()
        .vocab_size(SIZE)
        .show_progress(false)
        .initial_alphabet(ByteLevel::alphabet().into_iter().collect())
        .special_tokens(special.to_vec())
        .build();
    tokenizer.train(&mut trainer, documents.iter())?;
    let template = TemplateProcessing::builder()
        .try_single("<s> $A")?
        .try_pair("<s> $A $B")?
        .special_tokens(vec![("<s>", BOS)])
        .build()?;
    tokenizer.with_post_processor(Some(template));
    tokenizer.save(path, false)?;
    Tokenizer::from_file(path)
}
