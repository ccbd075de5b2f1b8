package doctor

import (
	"strconv"
	"time"

	"github.com/freshet/freshet/mcp/tool"
)

func good(check, detail string) tool.Finding {
	return tool.Finding{Check: check, Grade: tool.GradeGood, Detail: detail}
}

func poor(check, detail, advice string) tool.Finding {
	return tool.Finding{Check: check, Grade: tool.GradePoor, Detail: detail, Advice: advice}
}

func bad(check, detail, advice string) tool.Finding {
	return tool.Finding{Check: check, Grade: tool.GradeBad, Detail: detail, Advice: advice}
}

// broken is a finding of damage.
func broken(check, detail, advice string) tool.Finding {
	f := bad(check, detail, advice)
	f.Damage = true
	return f
}

func milliseconds(d time.Duration) string {
	return strconv.FormatFloat(float64(d.Microseconds())/1000, 'f', 1, 64) + " ms"
}
