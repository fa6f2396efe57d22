package storetest

// rule is one promise of the contracts, and how it is checked.
type rule struct {
	name   string
	guards string
	run    func(b *bench) error
}

// RuleNames returns the names of all rules, in the order in which they are checked.
func RuleNames() []string {
	names := make([]string, len(rules))
	for i, r := range rules {
		names[i] = r.name
	}
	return names
}

// rules go from what the worker says, over what the store does, to how it is counted. Rules with
// keys of other shapes come after the scans: on a server all rules share one store.
var rules = []rule{
	{"describe", "A driver says what it is: licence, durability classes weakest first and how each is reached, options whose defaults are valid. An experiment is refused or run on the strength of it, before anything is opened.", describeRule},
	{"version", "A driver tells the version of its library or server: a figure of an unknown version can't be compared with any.", versionRule},
	{"abilities", "The abilities in the description are those of the open store. Too many, and a planned trial fails halfway; too few, and the store is measured without what it can do.", abilitiesRule},
	{"durability-classes", "Every class that is claimed can be opened, and what is in force differs between classes. A class that changes nothing would rank a store among stores that work harder.", classesRule},
	{"durability-refusal", "A class that is not claimed is refused with class \"refused\", never rounded up or down: a refusal is a result, a rounded class is a lie.", classRefusalRule},
	{"bad-requests", "Unknown commands, drivers, options and fields, and options' bad values, are answered with bad_request, and the worker lives on. A misspelt option that is passed over measures something else than was asked for.", badRequestsRule},
	{"request-order", "Requests out of order are answered with bad_request and change nothing.", orderRule},
	{"control-channel", "Replies come in the order of the requests and carry their ids, and nothing else is written on standard output, so that no reply is taken for another's.", channelRule},
	{"end-of-input", "A worker ends when its input ends, store open or not: no process must outlive a trial and disturb the next.", endRule},
	{"handle-limits", "Ways to share handles that the driver can't do are refused: threads that share what must not be shared break silently.", handleLimitsRule},

	{"miss", "A key that was never written is a miss, never an error or an empty value.", missRule},
	{"value-lengths", "Values come back as they were put, from the empty one (which is a value, not a miss) to the longest. A store that drops or cuts values is fast.", valuesRule},
	{"overwrite", "The last write wins, whether the new value is longer, shorter or of the same length.", overwriteRule},
	{"delete", "A deleted key is a miss, can be written again, and deleting a key that is not there is no error. A delete that does nothing is the fastest of all.", deleteRule},
	{"read-modify-write", "A read-modify-write reads the value that is there and puts the new one; of a key that is not there it is a miss and puts nothing.", modifyRule},
	{"scan-order", "A scan gives every record from its start on, in bytewise order of keys, each with its own value.", scanOrderRule},
	{"scan-start", "A scan starts at the first key that is not less than its start, also where that key itself is not there.", scanStartRule},
	{"scan-limit", "A scan stops when it is told to, at the limit or at the end of the keys.", scanLimitRule},
	{"scan-deleted", "A scan leaves out what was deleted and shows what was overwritten once, with its last value.", scanDeletedRule},
	{"scan-beside-writes", "A scan gives each record that was there all along, once and in order, whatever is written beside it. A cursor that names a place and not a key slips when records come and go.", scanBesideRule},
	{"batch", "All of a batch's writes are applied: puts and deletes, up to its last.", batchRule},
	{"batch-order", "Writes of one batch apply in order: the last write of a key wins.", batchOrderRule},
	{"add", "An add stores where nothing is, and is a conflict that changes nothing where something is.", addRule},
	{"compare-and-swap", "A compare-and-swap of the value that is there replaces it; of a key that is not there it is a miss. Under contention each one either swaps or conflicts.", swapRule},
	{"binary-keys", "Keys are bytes: 0x00, 0xff and everything between. A driver that takes keys for text loses or merges some.", binaryKeysRule},
	{"key-lengths", "The shortest and the longest key that the driver claims to take work.", keyLengthsRule},
	{"key-shapes", "Keys of every shape that the contract has (decimal, ycsb, scattered) are kept apart.", keyShapesRule},
	{"limits", "A key or value one byte past a claimed limit ends in an error, or is kept whole after all; never in a dead worker, a hang, or a value that was acknowledged and is cut or gone.", limitsRule},

	{"define", "Columns and indexes that the contract does not have, and definitions out of order, are answered with bad_request; an index that the store lacks is refused, and nothing has changed then. An index that was passed over makes every query a look through everything.", defineRule},
	{"record-columns", "Every column of a record comes back as it was written, whatever its type: text that looks like a number, long integers, empty columns, zero bytes; by get, by scan, after batches and overwrites. A store that keeps part of a record is fast.", recordColumnsRule},
	{"record-reopen", "Records with columns are there, and are found, after close, open and define.", recordReopenRule},
	{"query", "A query finds every record that has these bytes in a column, and no other, with and without an index.", queryRule},
	{"query-limit", "A query ends at its limit.", queryLimitRule},
	{"query-changed", "After overwrites and deletes, queries and counts find each record once, and none that is gone. An index that is not kept up makes writes cheap.", queryChangedRule},
	{"count", "A count is exact, with and without an index. An estimate is not the work that was asked for.", countRule},

	{"buffers", "Keys and values belong to the caller after the call, and a value that was returned stays as it is until the handle's next call. Threads read and write values of many lengths at once; any buffer used twice shows as a wrong value.", buffersRule},
	{"handles-shared", "One handle may be used by all threads at once, if the driver says so.", handlesRule(handlesShared)},
	{"handles-per-thread", "Handles of different threads don't disturb each other.", handlesRule(handlesPerThread)},
	{"handles-pool", "Handles go from thread to thread in a pool, one user at a time, and waiting for one is counted apart from service.", handlesRule(handlesPool)},
	{"handles-async", "Asynchronous handles, each with several operations on the way, do what handles do, in the order in which they were told.", handlesRule(handlesAsync)},
	{"handles-per-operation", "A handle can be opened and closed for each operation, and each one is counted.", handlesRule(handlesPerOperation)},
	{"concurrent-overwrite", "Threads that write the same keys at once leave each key with one whole value that one of them wrote last.", contendedRule},
	{"write-conflicts", "A write that ends in conflict was not done, every other one was; and only a driver that says so (write_conflicts) refuses a write because others write beside it. What is counted as refused is work not done, whatever it left behind.", writeConflictsRule},

	{"reopen", "What was acknowledged in a class that survives the process is there after close and open: the load phase of every experiment relies on it.", reopenRule},
	{"first-opening", "Only the trial's first opening may empty a store: what was written is there after each later one, in every class. The load of an experiment is closed and opened again before anything is measured.", firstOpeningRule},
	{"survives-kill", "What was acknowledged in D1 or above survives a SIGKILL of the worker in the middle of writing, every record of it. This is what D1 means; it says nothing of power cuts.", killRule},

	{"counts", "Each operation has exactly one outcome under its own name, each outcome one service time, and the bytes and items are those of the trace. Rates are differences of these counters.", countsRule},
	{"laps", "At the end of its entries a thread begins again; the index of entries that grow goes up by the stride, and versions go on counting. Endless inserts must not repeat a key.", lapsRule},
	{"limit", "A thread does exactly as many entries as the trace says, laps included, and one with none does nothing.", limitRule},
	{"deadline", "A phase ends at the first operation that ends after its deadline, not before it and not never.", deadlineRule},
	{"stop", "A phase without an end ends when the stop word is set.", stopRule},
	{"clock", "Every clock that the contract names works, and the phase's times are told on CLOCK_MONOTONIC.", clockRule},
	{"lost", "A miss below must_hit_below is lost, with a message; above it, it is a miss. Lost records forbid ranking, misses don't.", lostRule},
	{"wrong-values", "A value that this trial did not write there is wrong, even if its checksum is right: bytes of another pool, a version that nobody wrote, a record that was never loaded.", wrongRule},
	{"trial-tag", "A value that another trial wrote is wrong, and counted as another trial's where it is long enough to tell. All trials of a block write the same keys and versions: without the tag, a server that kept the first trial's data and dropped all of the second's would pass.", trialTagRule},
	{"reads-done", "Every read is done: keys that are there and keys that are not, mixed, are answered as such, and the bytes are those of the values. A read that is skipped is the fastest of all.", readsDoneRule},
	{"history", "Operations on recorded keys are in the history, and no others: in order, each with its begin, end, outcome and the version that it read, which for one thread alone is its own last write, however short a time ago. A store that shows overwrites late is seen by nothing else.", historyRule},
	{"service-times", "The time of an operation is its own: the histogram is that of the recorded begins and ends, these follow each other without gaps where a thread only writes, and long writes take no less than the short ones beside them. Otherwise a tenth of the latency, or a time that is stamped before the store is called, would be believed.", serviceTimesRule},
	{"turns", "A thread begins no earlier than its from, and ends at its until. Client groups that come and go are timed by it.", turnsRule},
	{"messages", "Each outcome that needs a reason gets one, in at most 8 places a thread, and their counts add up to the outcomes.", messagesRule},
	{"open-load", "No operation begins before its due time, response times count from it, and the largest lateness is recorded. Otherwise a slow store would hide the waiting that it causes.", openLoadRule},
	{"lateness", "Each operation that the worker itself began late is counted once, in the word of its lateness, and none that waited for a slow store's. Percentiles are refused on the strength of it: a harness that hides its lateness sells it as the store's, and one that adds the store's can't measure a slow one.", latenessRule},
}
