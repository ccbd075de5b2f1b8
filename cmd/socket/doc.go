// Package socket carries calls between processes over the Unix socket of a data directory:
// Server takes them in the host, Call makes one. A call is one connection of JSON lines:
// a request, any number of notices and signs of life, then an envelope or a refusal. Both
// ends trust only processes of this user.
package socket
