package format

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// TextMax is how many bytes of an outside text are kept.
const TextMax = 4096

// Clean makes a text that came from outside (a store's error, a setting, a name) fit to be shown:
// one line without control characters, terminal escapes and characters that reorder others, valid
// UTF-8, and at most [TextMax] bytes, after which it ends in " … (cut)".
func Clean(text string) string { return CleanMax(text, TextMax) }

// CleanMax is [Clean] with another length.
func CleanMax(text string, most int) string {
	cut := len(text) > most
	if cut {
		text = text[:most]
		for range utf8.UTFMax - 1 { // a character that is cut in its middle
			if r, size := utf8.DecodeLastRuneInString(text); r != utf8.RuneError || size != 1 {
				break
			}
			text = text[:len(text)-1]
		}
	}
	clean := strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case r == utf8.RuneError, unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r),
			r == 0x2028, r == 0x2029, r == 0xfeff:
			return '·'
		}
		return r
	}, strings.ToValidUTF8(text, "·"))
	if cut {
		clean += " … (cut)"
	}
	return clean
}

// CleanLines is [Clean] of each line of a text that has several, as an error with its hint.
func CleanLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = Clean(line)
	}
	return strings.Join(lines, "\n")
}

// CSVSafe makes a text safe as a cell of CSV that a spreadsheet opens: one that would begin a
// formula gets a quote in front.
func CSVSafe(text string) string {
	text = Clean(text)
	if text != "" && strings.ContainsRune("=+-@", rune(text[0])) {
		return "'" + text
	}
	return text
}
