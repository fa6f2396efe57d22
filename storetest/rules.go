package storetest

// Aspect is a part of what stands between the contracts and a store. Targets of one driver differ in
// some of them, and a rule can be broken by some.
type Aspect uint

const (
	Loop        Aspect = 1 << iota // the worker's own: its loop, its counters, its control channel
	Encoding                       // how operations and answers are written: a client, a protocol
	Connections                    // how handles reach the store: TLS, a login
	Placement                      // where a record is kept: several servers, several files
	Columns                        // how records with columns are kept
	Durability                     // what acknowledged writes survive
	Description                    // what a driver says of itself

	// Driver is all in which two drivers on one worker can differ: the worker's own loop is the same.
	Driver = Encoding | Connections | Placement | Columns | Durability | Description
)

// rule is one promise of the contracts, and how it is checked.
type rule struct {
	name     string
	brokenBy Aspect
	guards   string
	run      func(b *bench) error
}

// RuleNames returns the names of all rules, in the order in which they are checked.
func RuleNames() []string { return rulesFor(0) }

// rulesFor returns the names of those rules that one of some aspects can break; of all for 0.
func rulesFor(changed Aspect) (names []string) {
	for _, r := range rules {
		if changed == 0 || r.brokenBy&changed != 0 {
			names = append(names, r.name)
		}
	}
	return names
}

// rules go from what the worker says, over what the store does, to how it is counted. Rules with
// keys of other shapes come after the scans: on a server all rules share one store.
var rules = []rule{
	{"describe", Description, "A driver says what it is: licence, durability classes weakest first and how each is reached, options whose defaults are valid. An experiment is refused or run on the strength of it, before anything is opened.", describeRule},
	{"version", Description, "A driver reports the version of its library or server: a figure of an unknown version can't be compared with any.", versionRule},
	{"abilities", Loop | Encoding | Connections | Placement, "The abilities in the description are those of the open store. Too many, and a planned trial fails halfway; too few, and the store is measured without what it can do.", abilitiesRule},
	{"durability-classes", Durability, "Every class that is claimed can be opened, with the driver's default options too, and what is in force differs between classes. A class that changes nothing would rank a store among stores that work harder.", classesRule},
	{"durability-refusal", Durability, "A class that is not claimed is refused with class \"refused\", never rounded up or down: a refusal is a result, a rounded class is a lie.", classRefusalRule},
	{"bad-requests", Loop, "Unknown commands, drivers, options and fields, and options' bad values, are answered with bad_request, and the worker lives on. A misspelt option that is passed over measures something else than was asked for.", badRequestsRule},
	{"request-order", Loop, "Requests out of order are answered with bad_request and change nothing.", orderRule},
	{"control-channel", Loop, "Replies come in the order of the requests and carry their ids, and nothing else is written on standard output, so that no reply is taken for another's.", channelRule},
	{"end-of-input", Loop | Connections, "A worker ends when its input ends, store open or not: no process must outlive a trial and disturb the next.", endRule},
	{"inspect", Encoding | Description, "A store's own counters have the same names from its opening on, in lower case. A worker names them before a phase: a counter that comes later is in no series.", inspectRule},
	{"fixed-disk", Description, "What a store sets aside on disk from its first write on is what its description says, give or take half. A trial is planned by it: one that fills the disk ends a run.", fixedDiskRule},
	{"handle-limits", Loop | Connections, "Ways to share handles that the driver can't do are refused: threads that share what must not be shared break silently.", handleLimitsRule},

	{"miss", Encoding | Connections | Placement, "A key that was never written is a miss, never an error or an empty value.", missRule},
	{"value-lengths", Encoding | Connections | Placement | Durability, "Values come back as they were put, from the empty one (which is a value, not a miss) to the longest. A store that drops or cuts values is fast.", valuesRule},
	{"overwrite", Encoding | Connections | Placement | Durability, "The last write wins, whether the new value is longer, shorter or of the same length.", overwriteRule},
	{"delete", Encoding | Placement | Durability, "A deleted key is a miss, can be written again, and deleting a key that is not there is no error. A delete that does nothing is the fastest of all.", deleteRule},
	{"read-modify-write", Encoding, "A read-modify-write reads the value that is there and puts the new one; of a key that is not there it is a miss and puts nothing.", modifyRule},
	{"expiry", Loop | Encoding | Placement, "A value with a TTL is there within its time, to within what the driver says of its unit, and gone after it and the driver's tick; one that was written without a TTL, over one with it, stays. A driver without the ability refuses. A cache that keeps what is over, or drops it before, has another hit rate than it is asked for.", expiryRule},
	{"fill", Loop | Encoding, "A read that is to fill puts its value where it finds none, once, and leaves what is there as it is. A fill too many is load that was not asked for; one too few makes the hit ratio wrong.", fillRule},
	{"touch", Loop | Encoding | Placement, "A touch gives a record another TTL, longer or shorter, and leaves its value; of a key that is not there it is a miss and makes nothing. A touch that does nothing is fast, and loses what was to live on.", touchRule},
	{"append", Loop | Encoding | Placement, "An append adds to the end of what is there, in one step of the store's own: of many threads that append to one record, each has its parts there, in its order. Where nothing is, it is a miss, or the part is the value if the driver says so.", appendRule},
	{"get-and-set", Loop | Encoding | Placement, "An exchange puts a value and returns the one that it replaced, in one step of the store's own: no value is returned twice, and each but the last is returned once.", getAndSetRule},
	{"multi-read", Loop | Encoding | Placement, "A multi-read gives each key its own value, and nothing for a key that is not there: keys found and keys absent are counted apart, with the calls that it took. A store that leaves out a key that is there has lost it, as in a read; one that gives a key another's value is wrong.", multiReadRule},
	{"scan-order", Encoding | Placement, "A scan gives every record from its start on, in bytewise order of keys, each with its own value.", scanOrderRule},
	{"scan-start", Encoding | Placement, "A scan starts at the first key that is not less than its start, also where that key itself is not there.", scanStartRule},
	{"scan-limit", Encoding | Placement, "A scan stops when it is told to, at the limit or at the end of the keys.", scanLimitRule},
	{"scan-deleted", Encoding | Placement, "A scan leaves out what was deleted and shows what was overwritten once, with its last value.", scanDeletedRule},
	{"scan-beside-writes", Encoding | Placement, "A scan gives each record that was there all along, once and in order, whatever is written beside it. A cursor that names a place and not a key slips when records come and go.", scanBesideRule},
	{"batch", Encoding | Placement | Durability, "All of a batch's writes are applied: puts and deletes, up to its last.", batchRule},
	{"batch-order", Encoding | Placement, "Writes of one batch apply in order: the last write of a key wins.", batchOrderRule},
	{"add", Encoding | Placement, "An add stores where nothing is, and is a conflict that changes nothing where something is. Of several threads that add a key, one stores it.", addRule},
	{"compare-and-swap", Encoding | Placement, "A compare-and-swap of the value that is there replaces it; of a key that is not there it is a miss. Under contention each one either swaps or conflicts.", swapRule},
	{"binary-keys", Encoding | Placement, "Keys are bytes: 0x00, 0xff and everything between. A driver that takes keys for text loses or merges some.", binaryKeysRule},
	{"key-lengths", Encoding | Placement, "The shortest and the longest key that the driver claims to take work.", keyLengthsRule},
	{"key-shapes", Encoding | Placement, "Keys of every shape that the contract has (decimal, ycsb, scattered) are kept apart.", keyShapesRule},
	{"mixed-keys", Loop | Encoding | Placement, "Keys of several lengths stand beside each other, of which one is the begin of another, or all but its last bytes are those of another; the worker makes each as long as it was asked for. A store that cuts keys merges some.", mixedKeysRule},
	{"limits", Encoding | Placement, "A key or value one byte past a claimed limit ends in an error, or is kept whole after all; never in a dead worker, a hang, or a value that was acknowledged and is cut or gone.", limitsRule},

	{"define", Columns, "Columns and indexes that the contract does not have, and definitions out of order, are answered with bad_request; an index that the store lacks is refused, and nothing has changed then. An index that was passed over makes every query a look through everything.", defineRule},
	{"record-columns", Encoding | Placement | Columns, "Every column of a record comes back as it was written, whatever its type: text that looks like a number, long integers, empty columns, zero bytes; by get, by scan, after batches and overwrites. A store that keeps part of a record is fast.", recordColumnsRule},
	{"record-reopen", Columns | Durability, "Records with columns are there, and are found, after close, open and define.", recordReopenRule},
	{"modify", Encoding | Placement | Columns, "A modify updates the columns that change with each write, all of them at once, and leaves the others as they are; of a key that is not there it is a miss and makes no record. What replaces the record in secret does another work than was asked for.", columnUpdateRule},
	{"increment", Encoding | Placement | Columns, "An increment adds 1 to a counter in one step of the store's own: of many at once, and beside modifies, none is lost and none is done twice; of a key that is not there it is a miss and makes no record.", counterRule},
	{"query", Encoding | Placement | Columns, "A query finds every record that has these bytes in a column, and no other, with and without an index.", queryRule},
	{"query-limit", Encoding | Placement | Columns, "A query ends at its limit.", queryLimitRule},
	{"query-conditions", Encoding | Placement | Columns, "A query finds what fulfils all of its conditions, or one of its alternatives: a range, a prefix and a word among them. It gives the first in its order, and the columns that it names.", queryConditionsRule},
	{"query-many", Encoding | Columns, "Of many queries, each finds every record: a store that drops one in a thousand is found.", queryManyRule},
	{"questions", Loop | Encoding | Columns, "Each query that a phase asks has its own outcomes, items and times, apart from those of other queries by the same operation: a mean of a fast query and a slow one tells of neither.", questionsRule},
	{"query-changed", Encoding | Placement | Columns, "After overwrites and deletes, queries and counts find each record once, and none that is gone. An index that is not kept up makes writes cheap.", queryChangedRule},
	{"count", Encoding | Placement | Columns, "A count is exact, with and without an index. An estimate is not the work that was asked for.", countRule},
	{"delete-query", Encoding | Placement | Columns, "A delete by query deletes each record that fulfils the conditions, and no other, and reports how many. One that leaves records is fast, and one that takes others loses data.", deleteQueryRule},
	{"explain", Encoding | Columns, "What a driver says of a query is what the store says: an index where an indexed column is asked for, and none where the column has none. Reports explain by it why one store is faster.", explainRule},

	{"remove", Encoding | Placement | Columns, "A remove deletes each record whose key begins with some bytes, and no other: a trial's records are taken off a server that outlives it, and no others.", removeRule},
	{"buffers", Encoding | Connections | Placement, "Keys and values belong to the caller after the call, and a value that was returned stays as it is until the handle's next call. Threads read and write values of many lengths at once; any buffer used twice shows as a wrong value.", buffersRule},
	{"handles-shared", Encoding | Connections | Placement, "One handle may be used by all threads at once, if the driver says so.", handlesRule(handlesShared)},
	{"handles-per-thread", Connections | Placement, "Handles of different threads don't disturb each other.", handlesRule(handlesPerThread)},
	{"handles-pool", Connections, "Handles go from thread to thread in a pool, one user at a time, and waiting for one is counted apart from service.", handlesRule(handlesPool)},
	{"handles-async", Loop | Encoding | Connections, "Asynchronous handles, each with several operations on the way, do what handles do, in the order of the requests.", handlesRule(handlesAsync)},
	{"handles-per-operation", Loop | Connections, "A handle can be opened and closed for each operation, and each one is counted. Closed ones leave no file and no socket open: a store that keeps them ends at the limit of its process, and gets slower until then.", handlesRule(handlesPerOperation)},
	{"concurrent-overwrite", Encoding | Placement, "Threads that write the same keys at once leave each key with one whole value that one of them wrote last.", contendedRule},
	{"write-conflicts", Encoding | Durability, "A write that ends in conflict was not done, every other one was; and only a driver that says so (write_conflicts) refuses a write because others write beside it. What is counted as refused is work not done, whatever it left behind.", writeConflictsRule},

	{"connections", Connections, "An open store holds as many connections to its servers as the description says. What a worker holds in a trial is judged by it: a client that opens more is slow for a reason that no rate tells.", connectionsRule},
	{"reconnects", Connections, "Handles that are open when their server is killed answer with errors, and do operations again once it is back. Otherwise all that follows a fault of the server is counted as its fault.", reconnectsRule},
	{"processes", Connections, "Two processes that have the store open each see what the other has written, and do a part of one trace each, from the same moment on: only if the driver says so. Clients that are processes are measured on the strength of it.", processesRule},

	{"reopen", Connections | Placement | Durability, "What was acknowledged in a class that survives the process is there after close and open: the load phase of every experiment relies on it.", reopenRule},
	{"first-opening", Placement | Durability, "Only the trial's first opening may empty a store: what was written is there after each later one, in every class. The load of an experiment is closed and opened again before anything is measured.", firstOpeningRule},
	{"survives-kill", Placement | Durability, "A SIGKILL of the store's process (the worker, or the server) in the middle of writing takes nothing that was acknowledged in D1 or D3, and in D2(T) only what was acknowledged in the last T. What is there is what was written. This is what these classes mean of a process; it says nothing of power cuts.", killRule},

	{"counts", Loop, "Each operation has exactly one outcome under its own name, each outcome one service time, and the bytes and items are those of the trace. Rates are differences of these counters.", countsRule},
	{"latency-sampled", Loop, "Where one operation in so many is to be timed, just those are that the contract names, and everything else is counted as ever. Otherwise a worker could choose the fast ones.", sampledRule},
	{"laps", Loop, "At the end of its entries a thread begins again; the index of entries that grow goes up by the stride, and versions go on counting. Endless inserts must not repeat a key.", lapsRule},
	{"limit", Loop, "A thread does exactly as many entries as the trace says, laps included, and one with none does nothing.", limitRule},
	{"deadline", Loop, "A phase ends at the first operation that ends after its deadline, not before it and not never.", deadlineRule},
	{"stop", Loop, "A phase without an end ends when the stop word is set.", stopRule},
	{"clock", Loop, "Every clock that the contract names works, and the phase's times are on CLOCK_MONOTONIC.", clockRule},
	{"lost", Loop, "A miss below must_hit_below is lost, with a message; above it, it is a miss. Lost records forbid ranking, misses don't.", lostRule},
	{"wrong-values", Loop, "A value that this trial did not write there is wrong, even if its checksum is right: bytes of another pool, a version that was never written, a record that was never loaded, a length that no value of the trial has, such as none.", wrongRule},
	{"trial-tag", Loop, "A value that another trial wrote is wrong, and counted as another trial's where it is long enough to tell. All trials of a block write the same keys and versions: without the tag, a server that kept the first trial's data and dropped all of the second's would pass.", trialTagRule},
	{"reads-done", Loop | Encoding, "Every read is done: keys that are there and keys that are not, mixed, are answered as such, and the bytes are those of the values. A read that is skipped is the fastest of all.", readsDoneRule},
	{"history", Loop | Encoding, "Operations on recorded keys are in the history, and no others: in order, each with its begin, end, outcome and the version that it read, which for one thread alone is its own last write, however short a time ago. A store that shows overwrites late is seen by nothing else.", historyRule},
	{"finds", Loop | Encoding, "A recorded scan has all that it gave in the history, with how far each thread was before and after it, and it gave each record whose insert was acknowledged before it began. A scan that skips records and takes the next ones, or shows inserts late, is seen by no sum.", findsRule},
	{"requests", Loop, "A request has its steps done one after the other with one handle, begins and ends with them, ends as the first of them that is not ok, and is never left in the middle. Its time is what a user of the store waits.", requestRule},
	{"service-times", Loop, "The time of an operation is its own: the histogram is that of the recorded begins and ends, these follow each other without gaps where a thread only writes, and long writes take no less than the short ones beside them. Otherwise a tenth of the latency, or a time that is stamped before the store is called, would be believed.", serviceTimesRule},
	{"turns", Loop, "A thread begins no earlier than its from, and ends at its until. Client groups that come and go are timed by it.", turnsRule},
	{"messages", Loop, "Each outcome that needs a reason gets one, in at most 8 places a thread, and their counts add up to the outcomes.", messagesRule},
	{"open-load", Loop, "No operation begins before its due time, response times count from it, and the largest lateness is recorded. Otherwise a slow store would hide the waiting that it causes.", openLoadRule},
	{"think", Loop, "A thread pauses before each operation for as long as the trace says, from the end of the one before, and no pause is in a service time. A pause that is left out is load that was not asked for.", thinkRule},
	{"lateness", Loop, "Each operation that the worker itself began late is counted once, in the word of its lateness, and none that waited for a slow store's. Percentiles are refused on the strength of it: a harness that hides its lateness sells it as the store's, and one that adds the store's can't measure a slow one.", latenessRule},
}
