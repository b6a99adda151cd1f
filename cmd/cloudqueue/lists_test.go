package main

import (
	"strings"
	"testing"

	"cloudqueue/router/admin"
)

func TestEmptyListsAreNeverNull(t *testing.T) {
	socket := (&fakeRouter{parked: &admin.ParkedList{}, books: &admin.Books{}}).serve(t)
	file := document(t, ordersRoute)
	for _, line := range [][]string{{"parking", "list", "--socket", socket}, {"books", "--socket", socket}, {"topology", "plan", file, "--against", file}, {"topology", "validate", file}} {
		for _, form := range []string{"json", "yaml"} {
			if got := cloudqueue(t, append(line, "-o", form)...); got.code != exitOK || strings.Contains(got.out, "null") {
				t.Errorf("%v -o %s: code %d, %s%s", line, form, got.code, got.out, got.errs)
			}
		}
	}
}

func TestCompletionOffersTheFormsOfOutput(t *testing.T) {
	cloudqueue(t, "__complete", "status", "-o", "").want(t, exitOK, "table\njson\nyaml\n")
}

func TestCompletionOffersTheReasons(t *testing.T) {
	for _, command := range []string{"list", "redrive", "drop"} {
		cloudqueue(t, "__complete", "parking", command, "--reason", "").want(t, exitOK, "bad-properties\nrefused\ntoo-large\nunroutable\n")
	}
	cloudqueue(t, "__complete", "spool", "void", "--reason", "").want(t, exitOK, "corrupt\ndetach\nrecovery\n")
}
