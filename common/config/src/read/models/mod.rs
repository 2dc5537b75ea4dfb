//! `[[model]]`: what is loaded or asked, in our words and in those of OpenCompass's classes.

pub(crate) mod card;
pub(crate) mod chat_template;
pub(crate) mod class;
pub(crate) mod endpoint;
pub(crate) mod files;
pub(crate) mod generation;
pub(crate) mod kwargs;
pub(crate) mod meta_template;
pub(crate) mod model;
pub(crate) mod openai;
pub(crate) mod quantised;
pub(crate) mod settings;
pub(crate) mod thinking;
pub(crate) mod truncation;
pub(crate) mod turbomind_api;
