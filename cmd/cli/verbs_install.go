package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/freshet/freshet/mcp/tool"
)

// defaultURL is where `freshet up` serves the protocol unless told otherwise.
const defaultURL = "http://" + defaultAddress + "/mcp"

func (r *run) installVerb() *cobra.Command {
	var write, tokenFile string
	var overHTTP, noToken bool
	at := reach{program: r.Executable}
	url := defaultURL
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Print how agents' clients are told of freshet, or tell one of them",
		Long: "install prints the configuration for each client. With --write CLIENT it adds freshet to\n" +
			"the configuration of that client, keeps everything else in it, and leaves a backup beside\n" +
			"it. Clients start `freshet mcp` themselves; with --http they are told of a running\n" +
			"`freshet up` and its token, in a file of the user that nobody else may read.\n" +
			"Clients: " + strings.Join(clientNames(), ", ") + ".",
		Args: atMost(0),
		RunE: func(*cobra.Command, []string) error {
			if overHTTP {
				at.url = url
			}
			if write != "" {
				if overHTTP && !noToken {
					var err error
					if at.token, err = r.tokenFor(tokenFile); err != nil {
						return err
					}
				}
				return r.writeClient(write, at)
			}
			if overHTTP && !noToken {
				at.token = "TOKEN"
			}
			text := r.installText(at)
			if r.json {
				r.print(tool.Succeeded(tool.Report{Usage: text}))
				return nil
			}
			_, err := io.WriteString(r.Stdout, text)
			return err
		},
	}
	cmd.Flags().StringVar(&write, "write", "", "the client whose configuration is to be changed")
	cmd.Flags().BoolVar(&overHTTP, "http", false, "tell of a running `freshet up` instead of a program to start")
	cmd.Flags().StringVar(&url, "url", url, "with --http: where it serves")
	cmd.Flags().StringVar(&tokenFile, "token-file", "", "with --http: file with its token, unless that is FRESHET_TOKEN or the one of the data directory")
	cmd.Flags().BoolVar(&noToken, "no-token", false, "with --http: it asks for no token")
	cmd.MarkFlagsMutuallyExclusive("no-token", "token-file")
	return cmd
}

// tokenFor is the token of the server that clients are told of.
func (r *run) tokenFor(file string) (string, error) {
	home, err := r.home()
	if err != nil {
		return "", err
	}
	token, _, err := r.serverToken(file, home)
	return token, err
}

// installText is the configuration for each client.
func (r *run) installText(at reach) string {
	var b strings.Builder
	flag := ""
	if at.url != "" {
		flag = "--http "
	}
	for _, c := range agentClients() {
		path := c.path(r.UserHome, r.Dir, at)
		if path == "" && c.file != "" {
			fmt.Fprintf(&b, "# %s takes no server over HTTP from a file: use `freshet install --write %s`\n\n", c.title, c.name)
			continue
		}
		fmt.Fprintf(&b, "# %s", c.title)
		if path != "" {
			fmt.Fprintf(&b, ": %s (freshet install %s--write %s)", path, flag, c.name)
		}
		b.WriteString("\n" + c.snippet(at) + "\n")
	}
	if at.url == "" {
		b.WriteString("# Over HTTP, from a running `freshet up`: freshet install --http\n")
	} else if at.token != "" {
		b.WriteString("# TOKEN stands for what `freshet up` says holds the token; --write puts it in\n")
	}
	return b.String()
}

// writeClient adds freshet to the configuration of a client.
func (r *run) writeClient(name string, at reach) error {
	c, ok := findClient(name)
	if !ok || c.file == "" {
		return usagef("--write: %q is none of the clients whose configuration is known: %s", name,
			strings.Join(clientNames()[:len(clientNames())-1], ", "))
	}
	named := c.path(r.UserHome, r.Dir, at)
	if named == "" {
		return usagef("--http: %s takes no server over HTTP from a file; give --write without --http", c.title)
	}
	project := ""
	if c.project && at.url == "" {
		project = r.Dir
	}
	path, err := configPath(named, project)
	if err != nil {
		return err
	}
	data, existed, err := readConfig(path)
	if err != nil {
		return err
	}
	changed, err := c.splice(data, at)
	if err != nil {
		return tool.Errorf(tool.CodeInvalidArgument, "the configuration %s is broken and is left as it is: %w; "+
			"mend it, or add by hand what `freshet install` prints", path, err)
	}
	said := "nothing to do: " + path + " names freshet already\n"
	if string(changed) != string(data) {
		said = "freshet is added to " + path + "\n"
		private := at.token != ""
		if existed {
			backup := path + ".before-freshet-" + r.Now().UTC().Format("20060102T150405.000Z")
			if err := replaceFile(backup, data, path, private); err != nil {
				return tool.Errorf(tool.CodePermissionDenied, "keep a backup: %w", err)
			}
			said += "what it was is kept in " + backup + "\n"
		}
		if err := replaceFile(path, changed, path, private); err != nil {
			return tool.Errorf(tool.CodePermissionDenied, "write the configuration of %s: %w", c.title, err)
		}
	}
	if r.json {
		r.print(tool.Succeeded(tool.Report{Usage: said}))
		return nil
	}
	_, err = io.WriteString(r.Stdout, said)
	return err
}

// splice adds the server to a configuration.
func (c agentClient) splice(data []byte, at reach) ([]byte, error) {
	if c.toml {
		text, err := spliceTOML(string(data), c.table+"."+entry, c.tomlTable(at))
		return []byte(text), err
	}
	return spliceJSON(data, c.table, entry, c.server(at))
}
