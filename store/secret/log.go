package secret

import (
	"context"
	"encoding"
	"fmt"
	"log/slog"
)

// NewLogHandler returns a handler that covers credentials in messages and attributes before
// it hands a record to next. An error quotes the text that it is about, so that a log is an
// exit like any other.
func NewLogHandler(next slog.Handler) slog.Handler { return logHandler{next} }

type logHandler struct{ next slog.Handler }

// Enabled implements slog.Handler.
func (h logHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	message, _ := MaskText(r.Message)
	masked := slog.NewRecord(r.Time, r.Level, message, r.PC)
	r.Attrs(func(a slog.Attr) bool {
		masked.AddAttrs(maskAttr(a))
		return true
	})
	return h.next.Handle(ctx, masked)
}

// WithAttrs implements slog.Handler.
func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logHandler{h.next.WithAttrs(maskAttrs(attrs))}
}

// WithGroup implements slog.Handler.
func (h logHandler) WithGroup(name string) slog.Handler { return logHandler{h.next.WithGroup(name)} }

func maskAttrs(attrs []slog.Attr) []slog.Attr {
	out := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		out[i] = maskAttr(a)
	}
	return out
}

// maskAttr covers credentials in a value, also those that only the key tells: password=....
// A value of another type stays what it is unless its text holds one.
func maskAttr(a slog.Attr) slog.Attr {
	a.Value = a.Value.Resolve()
	var text string
	switch a.Value.Kind() {
	case slog.KindString:
		text = a.Value.String()
	case slog.KindGroup:
		a.Value = slog.GroupValue(maskAttrs(a.Value.Group())...)
		return a
	case slog.KindAny:
		text = anyText(a.Value.Any())
	default: // numbers and times
		return a
	}
	now, found := MaskText(text)
	assignment := a.Key + ` = "`
	named, beside := MaskText(assignment + now + `"`) // of the same length
	if len(found)+len(beside) > 0 {
		a.Value = slog.StringValue(named[len(assignment) : len(assignment)+len(now)])
	}
	return a
}

// anyText is how a handler of text writes a value.
func anyText(value any) string {
	switch v := value.(type) {
	case encoding.TextMarshaler:
		if text, err := v.MarshalText(); err == nil {
			return string(text)
		}
	case []byte:
		return string(v)
	}
	return fmt.Sprintf("%+v", value)
}
