package tarantool

import "assay/store"

// inspectScript reports the server's counters. memtx's memory is that of its slabs: room is what these may
// still grow by, and what is free in them.
const inspectScript = `
local name, vinyl = ...
local net, slab, requests = box.stat.net(), box.slab.info(), box.stat()
local told = {
    connections = net.CONNECTIONS.current,
    requests = net.REQUESTS.total,
    requests_in_progress = net.REQUESTS.current,
    received_bytes = net.RECEIVED.total,
    sent_bytes = net.SENT.total,
    errors = requests.ERROR.total,
    selects = requests.SELECT.total,
    replaces = requests.REPLACE.total,
    inserts = requests.INSERT.total,
    updates = requests.UPDATE.total,
    deletes = requests.DELETE.total,
    records = box.space[name] and box.space[name]:len(),
    log_rows = box.info.lsn,
    arena_used_bytes = slab.arena_used,
    items_used_bytes = slab.items_used,
    lua_bytes = box.info.memory().lua,
    busy = box.info.gc().checkpoint_is_in_progress and 1 or 0,
}
if vinyl then
    local all = box.stat.vinyl()
    told.flushes = all.scheduler.dump_count
    told.compactions = all.scheduler.tasks_completed
    told.file_bytes = all.disk.data + all.disk.index
    told.memtables_bytes = all.memory.level0
    told.busy = math.max(told.busy, all.scheduler.tasks_inprogress > 0 and 1 or 0)
else
    told.room_bytes = slab.quota_size - slab.arena_used
end
for name, value in pairs(told) do
    told[name] = tonumber(value)
end
return told
`

// Inspect takes numbers of box.stat and box.slab.
func (d *db) Inspect() store.Inspection {
	inspection := store.Inspection{Stats: map[string]float64{"reconnects": float64(d.reconnects.Load())}}
	var told []map[string]float64
	if err := d.eval(inspectScript, &told, d.records.name, d.engine == vinyl); err != nil || len(told) != 1 {
		return inspection // what can't be had is left out
	}
	for name, value := range told[0] {
		if name == "busy" {
			inspection.Busy = value > 0
			continue
		}
		inspection.Stats[name] = value
	}
	return inspection
}
