//! The evaluators by name: ours, OpenCompass's classes, lm-eval's metrics, and what reads the parameters of each.

use super::parameters;
use crate::keys::vocabulary::Choices;
use crate::read::fields::Fields;
use crate::report::check::Check;
use compass_plan::evaluation::GaokaoQuestion;
use compass_plan::evaluation::{EvaluatorSpec, MbppAnswer, TextCheck, TextScore};

/// Reads what an evaluator takes beside its name.
pub(crate) type Read = fn(&mut Check, &mut Fields<'_>) -> Option<EvaluatorSpec>;

/// One without parameters that compares texts.
macro_rules! check {
    ($check:ident) => {
        |_, _| Some(EvaluatorSpec::Check { check: TextCheck::$check })
    };
}

/// One without parameters that scores texts.
macro_rules! score {
    ($score:ident) => {
        |_, _| Some(EvaluatorSpec::Score { score: TextScore::$score })
    };
}

/// One of Gaokao's kinds of question.
macro_rules! gaokao {
    ($question:ident) => {
        |_, _| Some(EvaluatorSpec::Gaokao { question: GaokaoQuestion::$question })
    };
}

pub(crate) const EVALUATORS: Choices<'_, Read> = Choices {
    now: &[
        ("acc", |_, _| Some(EvaluatorSpec::Acc)),
        ("acc_with_details", |_, _| Some(EvaluatorSpec::AccWithDetails)),
        ("em", |_, _| Some(EvaluatorSpec::Em)),
        ("gsm8k", |_, _| Some(EvaluatorSpec::Gsm8k)),
        ("exact_match", parameters::exact_match),
        ("multiple_choice", parameters::multiple_choice),
        ("perplexity", |_, _| Some(EvaluatorSpec::Perplexity)),
        ("average_ppl", |_, _| Some(EvaluatorSpec::AveragePpl)),
        ("average_inference_ppl", |_, _| Some(EvaluatorSpec::AverageInferencePpl)),
        ("bpc", |_, _| Some(EvaluatorSpec::Bpc)),
        ("circular", |_, _| Some(EvaluatorSpec::Circular)),
        ("circular_eval", parameters::circular_eval),
        ("ed_acc", |_, _| Some(EvaluatorSpec::EdAcc)),
        ("mcc", |_, _| Some(EvaluatorSpec::Mcc)),
        ("f1", parameters::f1),
        ("auc_roc", |_, _| Some(EvaluatorSpec::AucRoc)),
        ("squad", score!(Squad)),
        ("squad20", check!(Squad20)),
        ("trivia_qa", check!(TriviaQa)),
        ("nq", check!(Nq)),
        ("drop", check!(Drop)),
        ("drop_bags", score!(DropBags)),
        ("bbh", check!(Bbh)),
        ("bbh_mcq", check!(BbhMcq)),
        ("agi_eval", check!(AgiEval)),
        ("agi_eval_mcq", check!(AgiEvalMcq)),
        ("mgsm", check!(Mgsm)),
        ("math", parameters::math),
        ("equal", check!(Equal)),
        ("math_verify", check!(MathVerify)),
        ("hendrycks_math", check!(HendrycksMath)),
        ("minerva_math", check!(MinervaMath)),
        ("theorem_qa", check!(TheoremQa)),
        ("lambada", check!(Lambada)),
        ("rouge", parameters::rouge),
        ("jieba_rouge", score!(JiebaRouge)),
        ("bleu", parameters::bleu),
        ("chrf", parameters::chrf),
        ("ter", |_, _| Some(EvaluatorSpec::Ter)),
        ("ifeval", |_, _| Some(EvaluatorSpec::Ifeval)),
        ("truthful_qa_gen", |_, _| Some(EvaluatorSpec::TruthfulGeneration)),
        ("long_bench_f1", parameters::longbench_f1),
        ("long_bench_rouge", parameters::longbench_rouge),
        ("long_bench_retrieval", parameters::longbench_retrieval),
        ("long_bench_count", score!(LongbenchCount)),
        ("long_bench_code_sim", score!(LongbenchCodeSim)),
        ("long_bench_classification", score!(LongbenchClassification)),
        ("gaokao", parameters::gaokao),
        ("option_sim_acc", parameters::option_sim_acc),
        ("gpqa", check!(Gpqa)),
        ("bbeh", check!(Bbeh)),
        ("bbeh_mcq", check!(BbehMcq)),
        ("mmlu_pro_base", check!(MmluPro)),
        ("charm_reason", check!(BbhMcq)),
        ("needle_bench_origin", check!(NeedleBench)),
        ("ruler", score!(Ruler)),
        ("ruler_qa", score!(RulerQa)),
        ("tydi_qa", score!(TydiQa)),
        ("crowspairs", |_, _| Some(EvaluatorSpec::CrowsPairs)),
        ("bbq", |_, _| Some(EvaluatorSpec::Bbq)),
        ("sentence_pair", |_, _| Some(EvaluatorSpec::SentencePair)),
        ("human_eval", parameters::human_eval),
        ("mbpp", parameters::mbpp),
        ("mbpp_v2", |_, _| Some(EvaluatorSpec::Mbpp { answer: MbppAnswer::Block })),
        ("mbpp_pass_k", parameters::mbpp_pass_k),
    ],
    aliases: &[
        ("accwith_details", |_, _| Some(EvaluatorSpec::AccWithDetails)),
        ("aucroc", |_, _| Some(EvaluatorSpec::AucRoc)),
        ("edacc", |_, _| Some(EvaluatorSpec::EdAcc)),
        ("IFEvaluator", |_, _| Some(EvaluatorSpec::Ifeval)),
        ("triviaqa", check!(TriviaQa)),
        ("SQuAD20Evaluator", check!(Squad20)),
        ("DropOpenAIEvaluator", check!(Drop)),
        ("BBHEvaluator_mcq", check!(BbhMcq)),
        ("AGIEvalEvaluator_mcq", check!(AgiEvalMcq)),
        ("BBEHEvaluator", check!(Bbeh)),
        ("BBEHEvaluator_mcq", check!(BbehMcq)),
        ("MMLUProBaseEvaluator", check!(MmluPro)),
        ("TydiQAEvaluator", score!(TydiQa)),
        ("ruler_niah", score!(Ruler)),
        ("ruler_vt", score!(Ruler)),
        ("ruler_cwe", score!(Ruler)),
        ("ruler_fwe", score!(Ruler)),
        ("MGSM_Evaluator", check!(Mgsm)),
        ("TheoremQAEvaluatorV3", check!(TheoremQa)),
        ("humaneval", parameters::human_eval),
        ("MBPPEvaluator2", |_, _| Some(EvaluatorSpec::Mbpp { answer: MbppAnswer::Block })),
        ("MBPPPassKEvaluator", parameters::mbpp_pass_k),
        ("GaokaoBenchEvaluator_single_choice", gaokao!(SingleChoice)),
        ("GaokaoBenchEvaluator_multi_choice", gaokao!(MultiChoice)),
        ("GaokaoBenchEvaluator_multi_question_choice", gaokao!(MultiQuestionChoice)),
        ("GaokaoBenchEvaluator_five_out_of_seven", gaokao!(FiveOutOfSeven)),
    ],
    later: &[
        "acc_contamination",
        "average_min_k",
        "big_code_bench",
        "bleu_flores",
        "cascade",
        "code",
        "generic_llm",
        "human_eval_plus",
        "judge",
        "live_code_bench",
        "lm",
        "mbpp_plus",
        "min_k",
        "pass_at_k",
        "t_eval",
        "toxic",
    ],
    meanwhile: "use `acc`, `em` or `gsm8k`",
    suffix: Some("Evaluator"),
};
