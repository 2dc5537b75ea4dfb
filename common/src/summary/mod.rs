//! Summaries: the table at the end, as text, CSV and Markdown.
