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
"""
