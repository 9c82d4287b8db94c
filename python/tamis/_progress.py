"""Progress in one line that is overwritten, in a terminal or a notebook."""

import sys
import time


class Line:
    """Shows the progress reports of the core: ``verbose=1`` updates one line, 2 keeps a line for each report."""

    def __init__(self, verbose: int):
        self.verbose = verbose
        self.started = time.monotonic()
        self.text = ""
        self.width = 0

    def __call__(self, told: dict) -> None:
        if "size" in told:
            self._show(f"{told['size']} features, loss {told['loss']:.4f}{_error(told)}", stays=self.verbose > 1)
        elif "nonzeros" in told:
            text = f"{told['rows']:,} rows, loss {told['loss']:.4f}{_error(told)}, {told['nonzeros']:,} features"
            self._show(text, stays=self.verbose > 1)
        elif "fits" in told:
            if told["total"]:
                self._write(f"{told['fits']} of {told['total']} fits")
        elif told.get("total"):
            share = 100 * told["rows"] / told["total"]
            self._write(f"{share:3.0f} %  {self.text}")

    def _show(self, text: str, *, stays: bool) -> None:
        self.text = text
        self._write(text, end="\n" if stays else "")

    def _write(self, text: str, end: str = "") -> None:
        seconds = time.monotonic() - self.started
        text = f"{text}  ({seconds:.1f} s)"
        print("\r" + text.ljust(self.width), end=end, file=sys.stderr, flush=True)
        self.width = 0 if end else len(text)

    def close(self) -> None:
        """Ends the line."""
        if self.width:
            print(file=sys.stderr, flush=True)


def _error(told: dict) -> str:
    return "" if told.get("error") is None else f", error {told['error']:.4f}"
