package mongodb

import (
	"reflect"
	"testing"

	"assay/store"
)

// A FerretDB server is refused in each class that its process's settings don't give.
func TestFerretDBsSettingsGiveItsClass(t *testing.T) {
	for name, try := range map[string]struct {
		arguments, environment []string
		class                  store.Durability
	}{
		"its defaults":                {arguments: []string{"ferretdb"}},
		"SQLite":                      {arguments: []string{"ferretdb", "--handler=sqlite"}, class: store.D3},
		"by words":                    {arguments: []string{"ferretdb", "--handler", "sqlite"}, class: store.D3},
		"by its environment":          {environment: []string{"FERRETDB_HANDLER=sqlite"}, class: store.D3},
		"arguments go before":         {arguments: []string{"--handler=postgresql"}, environment: []string{"FERRETDB_HANDLER=sqlite"}},
		"a URL of its environment":    {arguments: []string{"--handler=sqlite"}, environment: []string{"FERRETDB_SQLITE_URL=file:d/?_pragma=synchronous(off)"}, class: store.D1},
		"synchronous(full)":           {arguments: []string{"--handler=sqlite", "--sqlite-url=file:d/?_pragma=synchronous(full)"}, class: store.D3},
		"synchronous(OFF)":            {arguments: []string{"--handler=sqlite", "--sqlite-url=file:d/?_pragma=synchronous(OFF)"}, class: store.D1},
		"synchronous(0)":              {arguments: []string{"--handler=sqlite", "--sqlite-url=file:d/?_pragma=synchronous(0)"}, class: store.D1},
		"synchronous(normal)":         {arguments: []string{"--handler=sqlite", "--sqlite-url=file:d/?_pragma=synchronous(normal)"}, class: store.D1},
		"normal without WAL":          {arguments: []string{"--handler=sqlite", "--sqlite-url=file:d/?_pragma=synchronous(normal)&_pragma=journal_mode(delete)"}},
		"full without WAL":            {arguments: []string{"--handler=sqlite", "--sqlite-url=file:d/?_pragma=journal_mode(delete)"}, class: store.D3},
		"no journal":                  {arguments: []string{"--handler=sqlite", "--sqlite-url=file:d/?_pragma=journal_mode(off)"}},
		"a journal in memory":         {arguments: []string{"--handler=sqlite", "--sqlite-url=file:d/?_pragma=journal_mode(memory)"}},
		"all in memory":               {arguments: []string{"--handler=sqlite", "--sqlite-url=file:d/?mode=memory"}},
		"a value that SQLite ignores": {arguments: []string{"--handler=sqlite", "--sqlite-url=file:d/?_pragma=synchronous(sometimes)"}},
		"PostgreSQL":                  {arguments: []string{"--handler=postgresql", "--postgresql-url=postgres://h/d"}},
	} {
		t.Run(name, func(t *testing.T) {
			flags := readFlags(try.arguments, try.environment)
			settings := map[string]string{"handler": flags["handler"]}
			if flags["handler"] == "sqlite" {
				if err := sqliteSettings(flags["sqlite-url"], settings); err != nil {
					t.Fatal(err)
				}
			}
			if got, why := ferretClass(settings); got != try.class || why == "" {
				t.Errorf("got %q (%s), expected %q", got, why, try.class)
			}
		})
	}
}

func TestWordsAreSplitAtSpacesAndCommas(t *testing.T) {
	for text, want := range map[string][]string{"": {}, "a b": {"a", "b"}, "a,b c": {"a", "b", "c"}, " ,a,, b ": {"a", "b"}, "a\tb": {"a\tb"}} {
		if got := words([]byte(text)); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q, expected %q", text, got, want)
		}
	}
}
