/** Says how an agent file names a host that may have a private address. */
export const PRIVATE_HOSTS =
  'Only hosts that the agent file names may have one: name it as base_url (tools/openapi), or in oauth.hosts (tools/mcp).'
