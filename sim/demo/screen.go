package demo

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// screen shows what happens: a line per event, and below them, on a terminal, progress that changes in place. Without a
// terminal progress is a line every five seconds. One goroutine uses it.
type screen struct {
	out      io.Writer
	terminal bool
	started  time.Time
	shown    int // lines of progress that stand below the last event
	last     time.Time
}

func newScreen(out io.Writer, terminal bool) *screen {
	return &screen{out: out, terminal: terminal, started: time.Now(), last: time.Now()}
}

// say writes an event above the progress.
func (s *screen) say(text string) {
	s.erase()
	fmt.Fprintf(s.out, "%5.1fs  %s\n", time.Since(s.started).Seconds(), text)
}

// plainEvery is how often progress is written without a terminal.
const plainEvery = 5 * time.Second

func (s *screen) show(lines []string) {
	if !s.terminal {
		if time.Since(s.last) < plainEvery {
			return
		}
		s.last = time.Now()
		fmt.Fprintln(s.out, strings.Join(lines, "\n"))
		return
	}
	s.erase()
	fmt.Fprintln(s.out, strings.Join(lines, "\n"))
	s.shown = len(lines)
}

// erase takes the progress away: cursor up, clear to the end of the screen (ECMA-48, CUU and ED).
func (s *screen) erase() {
	if s.shown > 0 {
		fmt.Fprintf(s.out, "\x1b[%dA\x1b[J", s.shown)
		s.shown = 0
	}
}

// end leaves the progress standing.
func (s *screen) end() { s.shown = 0 }
