package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// udpBuffer is the size in bytes that quic-go asks of a UDP socket, for receiving and for sending (its wiki, "UDP
// Buffer Sizes"): what comes in while the router is not scheduled is dropped beyond it, and the link takes that for a
// bad path.
const udpBuffer = 7 << 20

// udpLimits are what Linux grants at most, as root may set it.
var udpLimits = []string{"net.core.rmem_max", "net.core.wmem_max"}

// checkUDPBuffers reads the kernel's limits. They cost speed on fast or long paths alone, so a low one is no unsafe
// part.
func (d *doctor) checkUDPBuffers(context.Context) []finding {
	const part = "UDP buffers"
	var low, set []string
	for _, name := range udpLimits {
		limit, err := readLimit(filepath.Join(d.kernel, strings.ReplaceAll(name, ".", "/")))
		if errors.Is(err, fs.ErrNotExist) {
			return []finding{{part, levelUnknown, "whether the kernel grants " + bytesText(udpBuffer) +
				": it shows no " + name + " here (a container, or not Linux); look at the host", ""}}
		}
		if err != nil {
			return []finding{{part, levelUnknown, fmt.Sprintf("%s: %v", name, err), "sysctl " + name}}
		}
		if limit < udpBuffer {
			low = append(low, fmt.Sprintf("%s is %s", name, bytesText(limit)))
			set = append(set, fmt.Sprintf("%s=%d", name, udpBuffer))
		}
	}
	if len(low) > 0 {
		return []finding{{part, levelSlow, fmt.Sprintf("%s, QUIC wants %s: bursts are dropped on a fast or a long path",
			strings.Join(low, " and "), bytesText(udpBuffer)),
			"as root: sysctl -w " + strings.Join(set, " ") +
				"; to keep it, the same lines in /etc/sysctl.d/cloudqueue.conf; then restart the router"}}
	}
	return []finding{good(part, "the kernel grants %s", bytesText(udpBuffer))}
}

func readLimit(path string) (uint64, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
}
