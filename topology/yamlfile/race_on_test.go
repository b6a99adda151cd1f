//go:build race

package yamlfile_test

// slowdown is what the race detector costs (measured: 10 to 20 times).
const slowdown = 16
