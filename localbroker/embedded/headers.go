package embedded

import "strings"

// headersRule is a binding's arguments to a headers exchange, ready to match.
//
// x-match is all (the default), any, all-with-x or any-with-x; without "-with-x" fields whose names begin with x- do
// not count. A void value asks for presence alone; else the values have to be the same, whatever their types.
type headersRule struct {
	any    bool
	fields table
}

// checkHeadersArguments is the exception for a binding that no headers exchange takes, or nil.
func checkHeadersArguments(args table) *exception {
	v := args.get("x-match")
	if v == nil {
		return nil
	}
	mode, ok := v.text()
	if !ok {
		return fail(replyPreconditionFailed, "Invalid x-match field type %s (value %s); expected longstr", v.typeName(),
			v.printed())
	}
	switch mode {
	case "all", "any", "all-with-x", "any-with-x":
		return nil
	}
	return fail(replyPreconditionFailed, "Invalid x-match field value <<%q>>; expected all, any, all-with-x, or any-with-x", mode)
}

func newHeadersRule(args table) headersRule {
	mode, _ := args.get("x-match").text()
	rule := headersRule{any: strings.HasPrefix(mode, "any")}
	withX := strings.HasSuffix(mode, "-with-x")
	for _, f := range args {
		if f.name != "x-match" && (withX || !strings.HasPrefix(f.name, "x-")) {
			rule.fields = append(rule.fields, f)
		}
	}
	return rule
}

func (r headersRule) matches(headers table) bool {
	for _, f := range r.fields {
		hit := r.hit(f, headers)
		if hit && r.any {
			return true
		}
		if !hit && !r.any {
			return false
		}
	}
	return !r.any
}

func (r headersRule) hit(f field, headers table) bool {
	v := headers.get(f.name)
	return v != nil && (f.value.kind() == 'V' || f.value.sameAs(v))
}
