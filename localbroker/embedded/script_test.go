package embedded

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A conformance script is a conversation with a broker, written as lines:
//
//	=== what it shows                          begins a script
//	# a remark
//	# texts differ: why                        reply texts are not compared in this script
//	> a open                                   a command: connection a opens
//	> a1 queue.declare q durable               channel 1 of connection a declares
//	a1 queue.declare-ok q messages=0 consumers=0   what came back until the broker was quiet again
//
// The answers are RabbitMQ 3.10.8's, recorded by the integration test with -update. The embedded broker has to give the same
// ones, and so has a real one when it is there.
type script struct {
	name        string
	textsDiffer bool
	remarks     []string
	blocks      []block
}

// block is a command and what came back.
type block struct {
	command string
	answers []string
}

func scriptFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/conformance/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	return files
}

func readScripts(t testing.TB, file string) []*script {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var scripts []*script
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimRight(line, "\n")
		if name, ok := strings.CutPrefix(line, "=== "); ok {
			scripts = append(scripts, &script{name: name})
			continue
		}
		if len(scripts) > 0 {
			scripts[len(scripts)-1].add(line)
		}
	}
	return scripts
}

func (s *script) add(line string) {
	switch {
	case line == "":
	case strings.HasPrefix(line, "#"):
		s.remarks = append(s.remarks, line)
		s.textsDiffer = s.textsDiffer || strings.HasPrefix(line, "# texts differ")
	case strings.HasPrefix(line, "> "):
		s.blocks = append(s.blocks, block{command: line[2:]})
	default:
		last := &s.blocks[len(s.blocks)-1]
		last.answers = append(last.answers, line)
	}
}
