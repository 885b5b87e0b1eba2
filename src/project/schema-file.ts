/** Path of the schema of agent files in a project: the first line of an agent file names it for editors. */
export const SCHEMA_FILE = '.agent-host/agent.schema.json'
