// Package presentation is the floor that tells a result.
//
// It turns facts and findings into what a person or a script reads:
//
//	model    is a result: everything that a reader may be shown
//	tell     makes it, and the one screen's summary
//	column   lists the columns of tables, for text and page alike
//	text     is the terminal's screen, and Markdown
//	html     is the report page; its script and style are made from web/
//	export   is JSON, CSV, Go benchmark format and HDR logs
//	live     is what a person sees while a run goes on
//	metrics  is the same for Prometheus
//	serve    is the same in a browser, and the reports of runs that have ended
//	site     is many runs as static pages
//	archive  keeps the results of many runs, for their history
//
// What comes from outside (names, errors, labels) is made harmless by the writer of each format.
package presentation
