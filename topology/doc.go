// Package topology is the map that an admin writes: sites, links, routes and classes, read from one strict YAML
// document (docs/topology.md is its reference).
//
//	          edit, validate, plan, apply
//	admin ──────────────────────────────────▶ etcd  or  a plain file
//	                                            │ Source: Read, Wait
//	                                            ▼
//	last-good copy on disk ◀── Applied ──── Follower ──▶ Snapshots ──▶ router
//	         └──────── at a start ────────────▶ ┘
//
// Words: a Document is a valid topology; it never changes. A Stored is a document as a source keeps it, with its
// version and the numbers of its destinations. A Snapshot is what a router shall run. A Plan is the difference of two
// documents: what each site will do, and what would strand.
//
// Guarantees: Parse gives every mistake at once, with line, column and what to write. What this version does not carry
// out is refused and never ignored. A bad, missing, older or contradicting document changes nothing: the last good one
// stays in force, across restarts, without its source (design G8). A destination keeps its number for the life of its
// route (Numbers).
//
// It does not: talk to etcd (package topology/etcd), act on a document (package router), check that brokers and sites
// are what the document says (`cloudqueue doctor`).
//
// Start reading at Parse, Document, MakePlan and Follower.
package topology
