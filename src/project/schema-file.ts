/** Where a project has the schema of its agent files: the first line of an agent file names it for editors. */
export const SCHEMA_FILE = '.agent-host/agent.schema.json'
