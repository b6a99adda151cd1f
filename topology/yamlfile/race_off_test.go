//go:build !race

package yamlfile_test

const slowdown = 1
