package csvseries

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// headRowsMax is how many lines are looked at before the first is read.
const headRowsMax = 4096

// numberForm is how a file writes its numbers.
type numberForm struct {
	decimal byte // '.' or ','
	group   byte // between thousands; 0: none
}

var (
	// grouped is a whole number whose thousands may be parted, by one sign.
	groupedByPoint = regexp.MustCompile(`^[-+]?\d{1,3}(\.\d{3})+$`)
	groupedByComma = regexp.MustCompile(`^[-+]?\d{1,3}(,\d{3})+$`)
	both           = regexp.MustCompile(`^[-+]?[\d.,]*[.,][\d.,]*$`)
	plainShort     = regexp.MustCompile(`^[-+]?\d{1,3}$`)
)

// numbersOf guesses the form of a file's numbers. A sign before three digits is a thousands
// separator where it comes twice in a number, before another sign, or where the column's other
// numbers are whole and below 1000: who writes decimals writes more than thousandths.
func numbersOf(head [][]string, comma rune) (form numberForm, doubt string) {
	form = numberForm{decimal: '.'}
	var commas, points, pointGroups, commaGroups, open int
	for column := range columnsOf(head) {
		var parted, whole, other int
		for _, row := range head {
			if column >= len(row) {
				continue
			}
			cell := noSpaces.Replace(strings.TrimSpace(row[column]))
			switch point, comma := strings.LastIndexByte(cell, '.'), strings.LastIndexByte(cell, ','); {
			case plainShort.MatchString(cell):
				whole++
			case !both.MatchString(cell):
			case point >= 0 && comma >= 0 && comma > point:
				commas, pointGroups = commas+1, pointGroups+1
			case point >= 0 && comma >= 0:
				points, commaGroups = points+1, commaGroups+1
			case strings.Count(cell, ".") > 1:
				pointGroups++
			case strings.Count(cell, ",") > 1:
				commaGroups++
			case groupedByPoint.MatchString(cell), groupedByComma.MatchString(cell):
				parted++
				if comma >= 0 {
					open++
				}
			case comma >= 0:
				commas++
			case point >= 0:
				points, other = points+1, other+1
			default:
				other++
			}
		}
		// Thousandths beside whole numbers below 1000, and nothing else.
		if parted > 0 && whole > 0 && other == 0 {
			for _, row := range head {
				if column < len(row) && groupedByPoint.MatchString(strings.TrimSpace(row[column])) {
					pointGroups++
				} else if column < len(row) && groupedByComma.MatchString(strings.TrimSpace(row[column])) {
					commaGroups++
				}
			}
		}
	}
	switch {
	case commas > 0 && points == 0:
		form = numberForm{decimal: ',', group: '.'}
	case pointGroups > 0 && points == 0:
		form = numberForm{decimal: ',', group: '.'}
	case commaGroups > 0 && commas == 0:
		form.group = ','
	case open > 0 && comma != ',':
		form.decimal, doubt = ',', "commas are taken for decimal signs"
	case open > 0:
		form.group, doubt = ',', "commas within numbers are taken for thousands separators"
	}
	return form, doubt
}

func columnsOf(head [][]string) (most int) {
	for _, row := range head {
		most = max(most, len(row))
	}
	return most
}

var noSpaces = strings.NewReplacer("\u00a0", "", "\u202f", "", "'", "", "’", "")

// number reads a number; false: it is none in this form.
func (f numberForm) number(cell string) (float64, bool) {
	if strings.ContainsAny(cell, "'’\u00a0\u202f") {
		cell = noSpaces.Replace(cell)
	}
	if f.group != 0 && strings.IndexByte(cell, f.group) >= 0 {
		whole, fraction, _ := strings.Cut(cell, string(f.decimal))
		if f.group == '.' && !groupedByPoint.MatchString(whole) || f.group == ',' &&
			!groupedByComma.MatchString(whole) {
			return 0, false
		}
		cell = strings.ReplaceAll(whole, string(f.group), "")
		if fraction != "" {
			cell += string(f.decimal) + fraction
		}
	}
	if f.decimal == ',' {
		cell = strings.Replace(cell, ",", ".", 1)
	}
	value, err := strconv.ParseFloat(cell, 64)
	return value, err == nil && math.Abs(value) <= numberMax // false for NaN
}

// timeLayouts are the forms of times of day and dates that are read.
var timeLayouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00",
	"2006-01-02 15:04:05.999999999 -0700", "2006-01-02 15:04:05.999999999 MST", "2006-01-02 15:04:05.999999999",
	"2006-01-02T15:04", "2006-01-02 15:04", "2006/01/02 15:04:05.999999999", "2006/01/02-15:04:05.999999999",
	"02.01.2006 15:04:05.999999999", "15:04:05.999999999"}

// timeForm is how a file writes its times: seconds, another unit since 1970, or a date.
type timeForm struct {
	layout string  // "": a number
	unit   float64 // so many are a second
}

// timesOf guesses the form of a column of times.
func timesOf(cells []string, numbers numberForm) timeForm {
	form := timeForm{unit: 1}
	if len(cells) == 0 {
		return form
	}
	if value, is := numbers.number(cells[0]); is {
		for _, perSecond := range []float64{1e9, 1e6, 1e3} {
			if value >= epochMin*perSecond {
				form.unit = perSecond
				break
			}
		}
		return form
	}
	for _, layout := range timeLayouts {
		if _, err := time.Parse(layout, pointed(cells[0])); err == nil {
			form.layout = layout
			break
		}
	}
	return form
}

// pointed is a time whose fraction of a second, after a comma, stands after a point.
func pointed(cell string) string { return strings.Replace(cell, ",", ".", 1) }

// seconds reads a time; false: it is none in this form.
func (f timeForm) seconds(cell string, numbers numberForm) (float64, bool) {
	if f.layout == "" {
		value, is := numbers.number(cell)
		return value / f.unit, is
	}
	at, err := time.Parse(f.layout, pointed(cell))
	if err != nil {
		return 0, false
	}
	return float64(at.Unix()) + float64(at.Nanosecond())/1e9, true
}

// absolute reports whether times are dates or times of day, and no times since a start.
func (f timeForm) absolute(first float64) bool { return f.layout != "" || first >= epochMin }

// expected says what a time looks like.
func (f timeForm) expected() string {
	if f.layout != "" {
		return "a time like the first one"
	}
	return "the time in seconds, or a date like 2026-11-21T08:50:46Z"
}
