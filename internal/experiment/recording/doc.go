// Package recording reads recorded traffic: the requests that somebody's store got, in the forms in
// which they are published, as one stream of requests. It says what a stream is like, and how far two
// of them differ.
//
// A recording is read once for each use, from its beginning to its end, and never held: what is kept of
// it is bounded, whatever the file holds. Keys are words that tell them apart; Numbering gives them
// numbers by first sight.
//
//	request.go    a request, and what recordings call operations
//	format.go     the forms, and how a file's form is found
//	open.go       files, compressed or not, and lines of bounded length
//	columns.go    CSV: Twitter's, CacheLib's, and any other by a mapping of its columns
//	text.go       Redis MONITOR, and what RocksDB's trace_analyzer prints
//	oracle.go     libCacheSim's oracleGeneral
//	reader.go     the stream of a file: times from its first request on, and what was left out
//	selection.go  a part of a recording: between two moments, of some keys
//	numbering.go  numbers for keys, by first sight
//	places.go     numbers for keys, by their lengths; keylengths.go: how many keys have each
//	summary.go    what a part has: requests, keys, sizes, and a rate over time
//	sizes.go      the lengths of values in at most 200 classes
//	shape.go      what a stream is like: mix, sizes, gaps, reuse
//	lru.go        hit rates of LRU caches
//	fidelity.go   how far what was sent differs from what was recorded
package recording
