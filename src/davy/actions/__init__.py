"""What Davy does, one public function a verb: below the doors, above the stages.

The shell, the pages, background jobs and the library call these; nobody else does
the work of a command. Each takes plain arguments (paths, frames, names of models
or scorers, options) and a `Reporter`, and returns a result object; none prints.
What a user can fix is a `UserError`. A killed call goes on when it is made again.

    posts:    PostSource(path, corpus, text, id, format, encoding) | Path | str | polars.DataFrame
    models:   names in a sequence, or {name: name or Scorer}
    reporter: Reporter(should_stop=None), which hears begin, advance, end and note (`davy.actions.reporter`)

    davy.actions.score.score_file(file, out, model="embedded", *, settings=None, cascade=True, why=False,
                                  resume=None, reporter=SILENT) -> ScoredFile
    davy.actions.score.score_text(text, model="embedded", *, lang=None, why=False) -> ScoredText
    davy.actions.evaluate.evaluate(posts, models=(), predictions=(), *, scheme=None, questions=(), split=None,
                                   gold=(), everywhere=False, bootstrap=None, reporter=SILENT) -> Evaluation
    davy.actions.evaluate.write_evaluation(evaluation, folder, *, command="")
    davy.actions.train.train(posts, out, *, kind="transformer", config=None, changes=None, encoder=None,
                             scheme=None, name=None, seeds=(), dev=None, split=None, dev_split=None,
                             command=(), reporter=SILENT) -> TrainingRun    # kind: transformer, tfidf, xgboost
    davy.actions.check.check(suite, models=("embedded",), *, out=None, gates=None, baseline=None, question="",
                             sample=None, cached=True, batch=256, bootstrap=None, command="", reporter=SILENT)
                             -> CheckReport
    davy.actions.clean.clean_file(file, out, recipe="edos", *, near=None, funnel=None, workers=None,
                                  reporter=SILENT) -> Funnel
    davy.actions.sample.sample_file(file, out, plan="edos", *, judges=(), pool=None, at_least=None,
                                    replace_column=False, seed=0, reporter=SILENT) -> SampledFile
    davy.actions.convert.convert_file(file, out, *, reporter=SILENT) -> Conversion
    davy.actions.describe.describe(posts, *, name=None, scheme=None, gold=(), about=None, least=5, langs=EN_DE)
                                   -> DescribedCorpus; write_description(corpus, folder, *, command="")
    davy.actions.exchange.export_project(store, request, out, *, statement=None, progress=None) -> ExportSummary
    davy.actions.exchange.import_file(store, request, file, *, by, progress=None, …) -> ImportSummary
    davy.actions.distil.distil(posts, teachers, encoder, out, *, dev=None, hard_share=0.3, seed=1, …) -> TrainingRun
    davy.actions.distil.pretrain(posts, encoder, out, *, hide=0.15, seed=1, …) -> dict, the run's record
    davy.actions.export_model.export_model(model, out, *, dev=None, gold=(), threshold="macro-f1", exact=False, …)
                                           -> dict, Calibration | None
    davy.actions.reproduce.reproduce(paper, data, *, encoders=(), changes=None, unlabelled=None, models=(),
                                     fresh=False, seed=0, reporter=SILENT) -> Reproduction
    davy.actions.reproduce_hatemoji.reproduce_hatemoji(data, models=("embedded",), *, bootstrap=None, cached=True,
                                                       encoders=(), changes=None, reporter=SILENT) -> HatemojiTables
    davy.actions.calibrate.calibrate(scorer, posts, *, threshold="macro-f1", temperature=True)
                                     -> (CalibratedScorer, Calibration)
"""
