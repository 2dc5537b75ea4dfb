//! `[dataset.test]` and `[dataset.train]`, their columns and conditions.

use super::key::Kind::{self, Anything, ArrayOf, Boolean, Choice, Either, MapOf, Table, Text, Texts, Whole};
use super::key::{Key, TableKeys, TypeKeys, key};
use super::vocabulary::{AS, FORMAT, ORDERS};

pub(crate) static SPLIT: TableKeys = TableKeys {
    name: "split",
    title: "[dataset.test]",
    keys: &[
        key(
            "path",
            Either(&[Text, Texts]),
            "a file, a folder of one kind of file, a name with `*`, or `hub:owner/name[@revision][/config]`",
        )
        .takes("string or array")
        .required(),
        key("split", Text, "which split of a hub data set").default("`test` or `train`"),
        key("format", Choice(|| FORMAT.words()), "layout of the files")
            .default("by the name; `.gz` is read as what it holds"),
        key("header", Boolean, "csv, tsv: the first row names the columns").default("`true`"),
        key("names", Texts, "csv, tsv: names of the columns; txt: of its one column; json: of rows that are lists").default("the header's"),
        key("delimiter", Text, "csv, tsv: between two values").takes("one ASCII character").default("the format's own"),
        key("quoted", Boolean, "whether `\"` quotes").default("csv `true`, tsv `false`"),
        key("rows", Text, "json: where the rows are, as in `data.test`").takes("dotted path").default("the document"),
        key("key_column", Text, "json: rows are the values of an object, whose keys become this column")
            .default("none"),
        key("whole", Boolean, "txt: the file is one row").default("`false`"),
        key("file_column", Text, "column that gets what `*` stood for, else the file's name").default("none"),
        key("max_line_mb", Kind::from(1), "bound of a line or record, in millions of bytes").default("64"),
        key("max_document_mb", Kind::from(1), "bound of a file that is read whole").default("1024"),
        key(
            "each",
            MapOf(&Either(&[Text, ArrayOf(&Anything)])),
            "`{ qa = \"paragraph.qas\" }`: before all else, a row for every item of that list, in a new column; several nest; \
             of an array, a row for every value",
        )
        .takes("table from column to `PATH` or array")
        .default("none"),
        key("columns", MapOf(&Table(&COLUMN)), "new columns").takes("table").default("none"),
        key(
            "lists_to_columns",
            MapOf(&Texts),
            "`{ choices = [\"A\", \"B\", \"C\", \"D\"] }`: an item a column; the list goes",
        )
        .takes("table")
        .default("none"),
        key("keep", Either(&[Table(&KEEP), ArrayOf(&Table(&KEEP))]), "rows that are used; all conditions must hold")
            .takes("condition or array")
            .default("all rows"),
        key("slice", Text, "rows that there are, of those: `\"[10:510]\"`; `test_range` takes from them").default("all"),
        key("drop_columns", Texts, "columns that go").takes("array").default("none"),
        key("order", Texts, "columns that stand first").takes("array").default("as read"),
        key("only", Texts, "these columns alone, in this order").takes("array").default("all"),
        key(
            "circular",
            Table(&CIRCULAR),
            "last of all, a row for every order of its options, with the columns `qid` and `circular_pattern`: CircularEval",
        )
        .takes("table")
        .default("none"),
    ],
    types: &[],
};

pub(crate) static KEEP: TableKeys = TableKeys {
    name: "keep",
    title: "`keep`",
    keys: &[
        key("column", Text, "what is asked").required(),
        key("equals", Anything, "the value is this one").takes("any value").default("one of four"),
        key("in", ArrayOf(&Anything), "the value is one of these").takes("array").default("one of four"),
        key("regex", Text, "the value matches").default("one of four"),
        key("exists", Boolean, "whether there is a value").default("one of four"),
        key("not", Boolean, "the reverse").default("`false`"),
    ],
    types: &[],
};

pub(crate) static CIRCULAR: TableKeys = TableKeys {
    name: "circular",
    title: "`circular`",
    keys: &[
        key("options", Texts, "columns of the options").takes("array").required(),
        key("answer", Text, "column of the right answer; one that names no option stays").required(),
        key("answers", Texts, "what the right answer says for each option; one that says none of it is a fault")
            .takes("array")
            .default("the names of the options"),
        key("patterns", Choice(|| ORDERS.words()), "which orders").default("`circular`"),
    ],
    types: &[],
};

pub(crate) static SPAN: TableKeys = TableKeys {
    name: "span",
    title: "a span",
    keys: &[
        key("at", Text, "`PATH` of the position of its first piece, from 0").required(),
        key("like", Text, "`PATH` of a text that has as many pieces").default("one piece"),
        key("put", Text, "`TEMPLATE` that stands in its place").required(),
    ],
    types: &[],
};

const BASE: &[Key] = &[key("base", Whole(0, 1), "number of the letter A").takes("0 or 1").default("0")];
const REGEX: Key = key("regex", Text, "a regular expression");

/// The types are the verbs, of which a column has exactly one as a key.
pub(crate) static COLUMN: TableKeys = TableKeys {
    name: "column",
    title: "a column",
    keys: &[
        key("as", Choice(|| AS.words()), "the type that the value is brought to").default("as it is"),
        key("default", Anything, "what stands where `PATH` is absent or null, or where nothing was found")
            .takes("any value")
            .default("a fault"),
    ],
    types: &[
        verb("from", &[&[key("from", Text, "`PATH`")]]),
        verb("const", &[&[key("const", Anything, "any value")]]),
        verb("format", &[&[key("format", Text, "`TEMPLATE`")]]),
        verb(
            "join",
            &[&[
                key("join", Either(&[Text, Texts]), "several `PATH`s, or one of a list"),
                key("with", Text, "between two values").default("nothing"),
                key("each", Text, "of one list: `TEMPLATE` of an item, with `{item}`, `{letter}` and `{number}`")
                    .default("the item"),
                key("skip", ArrayOf(&Anything), "of one list: items that are left out, without moving the letters")
                    .takes("array")
                    .default("none"),
            ]],
        ),
        verb(
            "split",
            &[&[
                key("split", Text, "`PATH`"),
                key("by", Text, "where the text is split").required(),
                key("at", Whole(i64::MIN, i64::MAX), "which piece").default("the list"),
            ]],
        ),
        verb(
            "item",
            &[&[
                key("item", Text, "`PATH`"),
                key("at", Either(&[Text, Whole(i64::MIN, i64::MAX)]), "position, from the end when negative, or key")
                    .default("this or `at_column`"),
                key("at_column", Text, "`PATH` of the position or key").default("this or `at`"),
            ]],
        ),
        verb("letter_of", &[&[key("letter_of", Text, "`PATH`")], BASE]),
        verb(
            "index_of",
            &[
                &[
                    key("index_of", Text, "`PATH`"),
                    key("in", Text, "`PATH` of the list that is searched").default("none"),
                ],
                BASE,
            ],
        ),
        verb(
            "map",
            &[&[
                key("map", Text, "`PATH`"),
                key("to", MapOf(&Anything), "the values by what a prompt would print").required(),
            ]],
        ),
        verb(
            "capture",
            &[&[
                key("capture", Text, "`PATH`"),
                REGEX.required(),
                key("group", Either(&[Text, Whole(0, 1000)]), "number or name of a group")
                    .default("the first, else the match"),
            ]],
        ),
        verb(
            "replace",
            &[&[
                key("replace", Text, "`PATH`"),
                REGEX.default("this or `find`"),
                key("find", Text, "a text as it is").default("this or `regex`"),
                key("by", Text, "`TEMPLATE`, in which `{1}` is a group of the regex").required(),
            ]],
        ),
        verb(
            "strip",
            &[&[key("strip", Text, "`PATH`"), key("chars", Text, "what goes off both ends").default("white space")]],
        ),
        verb("json", &[&[key("json", Text, "`PATH`")]]),
        verb("lines_of", &[&[key("lines_of", Text, "a file")]]),
        verb("rows_of", &[&[key("rows_of", Text, "a file"), key("column", Text, "`PATH` in its rows").required()]]),
        verb("text_of", &[&[key("text_of", Text, "a file")]]),
        verb("object", &[&[key("object", Texts, "several `PATH`s")]]),
        verb("list", &[&[key("list", Texts, "several `PATH`s")]]),
        verb(
            "items",
            &[&[
                key("items", Text, "`PATH` of a list"),
                key("at", Either(&[Text, Whole(i64::MIN, i64::MAX)]), "position or key in each item")
                    .default("the items"),
                key("order", Text, "`PATH` of a list of positions, in whose order the items come")
                    .default("as they are"),
                key("unique", Boolean, "of equal items the first alone").default("`false`"),
            ]],
        ),
        verb("first_of", &[&[key("first_of", Texts, "several `PATH`s")]]),
        verb("cycle", &[&[key("cycle", ArrayOf(&Anything), "values that rows take in turn")]]),
        verb("number", &[&[key("number", Whole(i64::MIN, i64::MAX), "what the first row is counted as")]]),
        verb(
            "splice",
            &[&[
                key("splice", Text, "`PATH`"),
                key("by", Text, "what parts the pieces; `\"\"` for characters").required(),
                key("spans", ArrayOf(&Table(&SPAN)), "pieces that are replaced; where two overlap, the first counts")
                    .takes("array of spans")
                    .required(),
            ]],
        ),
        verb(
            "upper",
            &[&[key("upper", Text, "`PATH`"), key("first", Boolean, "the first letter alone").default("`false`")]],
        ),
    ],
};

const fn verb(name: &'static str, keys: &'static [&'static [Key]]) -> TypeKeys {
    TypeKeys { name, meaning: "", keys }
}
