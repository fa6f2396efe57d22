package tarantool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"

	tarantool "github.com/tarantool/go-tarantool/v2"

	"assay/store"
)

// space is a space of records: the key first, and then the value or its columns.
type space struct {
	id      uint32
	name    string
	columns []store.Column // nil: the value is one field
	swap    string         // the statement of a compare-and-swap
}

// keyField marks a space as Assay's: no column's name has a blank.
const keyField = "assay key"

// field is a field in a space's format.
type field struct {
	Name string `msgpack:"name"`
	Type string `msgpack:"type"`
}

func formatOf(columns []store.Column) []field {
	format := []field{{keyField, "string"}}
	if columns == nil {
		return append(format, field{"value", "string"})
	}
	for _, c := range columns {
		kind := "string"
		if c.Type == store.IntegerColumn {
			kind = "integer"
		}
		format = append(format, field{c.Name, kind})
	}
	return format
}

// nameOf is one for each engine and each definition of columns, so that none meets another's tuples.
func (d *db) nameOf(columns []store.Column) string {
	name := d.base + "_" + d.engine
	if columns == nil {
		return name
	}
	h := fnv.New64a()
	for _, c := range columns { // a hash's Write has no error
		_, _ = h.Write(binary.LittleEndian.AppendUint16(nil, uint16(len(c.Name))))
		_, _ = h.Write([]byte(c.Name + string(c.Type)))
	}
	return fmt.Sprintf("%s_%016x", name, h.Sum64())
}

// sessions is how the server knows, in memory, which connections are of open stores: none drops or empties
// what another one uses. A session whose connection has ended is no more.
const sessions = `
local base = ...
local open = rawget(_G, 'assay_sessions') or {}
rawset(_G, 'assay_sessions', open)
local function alone()
    for id, name in pairs(open) do
        if not box.session.exists(id) then
            open[id] = nil
        elseif name == base and id ~= box.session.id() then
            return false
        end
    end
    return true
end
local function ours()
    local found = {}
    for name, space in pairs(box.space) do
        if type(name) == 'string' and name:sub(1, #base + 1) == base .. '_' then
            local first = space:format()[1]
            if first ~= nil and first.name == 'assay key' then
                found[#found + 1] = space
            end
        end
    end
    return found
end
`

const enterScript = sessions + `
open[box.session.id()] = base
return true
`

// enter lets the server know a new connection of an open store.
func (d *db) enter(c *tarantool.Connection) error {
	var done []bool
	return failure(doingEval, c.Do(tarantool.NewEvalRequest(enterScript).Args([]any{d.base})).GetTyped(&done))
}

const countScript = sessions + `
local _, flush = ...
if flush and not alone() then
    return -1
end
local records = 0
for _, space in ipairs(ours()) do
    records = records + space:len()
    if flush then
        space:truncate()
    end
end
return records
`

// count returns how many records there are in Assay's spaces, and empties them if that is asked for.
func (d *db) count(flush bool) (records uint64, err error) {
	var told []int64
	if err := d.eval(countScript, &told, d.base, flush); err != nil {
		return 0, err
	}
	if len(told) != 1 {
		return 0, errAnswer
	}
	if told[0] < 0 {
		return 0, fmt.Errorf("flush_at_open: another Assay uses the spaces %s_…: %w", d.base, store.ErrRefused)
	}
	return uint64(told[0]), nil
}

const makeScript = `
local name, engine, format = ...
local made = box.space[name]
if made == nil then
    box.atomic(function()
        made = box.schema.space.create(name, {engine = engine, format = format})
        made:create_index('primary', {type = 'tree', parts = {{1, 'string'}}})
    end)
end
local there = made:format()
local same = made.engine == engine and #there == #format
for i, field in ipairs(format) do
    same = same and there[i].name == field.name and there[i].type == field.type
end
return same and made.id or 0
`

// makeSpace makes the space of a definition, or finds it.
func (d *db) makeSpace(columns []store.Column) (space, error) {
	name := d.nameOf(columns)
	s := space{name: name, columns: columns, swap: swapSQL(name, columns)}
	var told []uint32
	if err := d.eval(makeScript, &told, s.name, d.engine, formatOf(columns)); err != nil {
		return space{}, err
	}
	if len(told) != 1 {
		return space{}, errAnswer
	}
	if s.id = told[0]; s.id == 0 {
		return space{}, fmt.Errorf("space %s is there, and Assay did not make it: option space names another: %w",
			s.name, store.ErrRefused)
	}
	return s, nil
}

const leaveScript = sessions + `
local empty = alone()
open[box.session.id()] = nil
for _, space in ipairs(ours()) do
    empty = empty and space.index[0]:min() == nil
end
if empty then
    for _, space in ipairs(ours()) do
        space:drop()
    end
end
return empty
`

// leave drops the spaces if all are empty and no other Assay has them open. A trial's keys are deleted
// when it ends, so that the last one leaves nothing.
func (d *db) leave() error {
	var dropped []bool
	return d.eval(leaveScript, &dropped, d.base)
}

// eval has the server run Lua on the store's own connection.
func (d *db) eval(script string, answer any, arguments ...any) error {
	return d.control.do(doingEval, tarantool.NewEvalRequest(script).Args(arguments), answer)
}

var errAnswer = errors.New("tarantool: a script has another answer than was expected")

// settingsScript leaves out what may hold a password.
const settingsScript = `
local told = {version = box.info.version, read_only = tostring(box.info.ro)}
for name, value in pairs(box.cfg) do
    local kind = type(value)
    if name ~= 'replication' and name ~= 'read_only' and (kind == 'string' or kind == 'number' or kind == 'boolean') then
        told[name] = tostring(value)
    end
end
return told
`

// settingsOf reads box.cfg.
func settingsOf(l *link) (map[string]string, error) {
	var told []map[string]string
	if err := l.do(doingEval, tarantool.NewEvalRequest(settingsScript).Args([]any{}), &told); err != nil {
		return nil, err
	}
	if len(told) != 1 {
		return nil, errAnswer
	}
	return told[0], nil
}
