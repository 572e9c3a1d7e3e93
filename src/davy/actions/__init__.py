"""One public function a verb: what the shell, the pages, background jobs and the library all call."""
