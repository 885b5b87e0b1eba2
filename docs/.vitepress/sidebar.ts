import { readdirSync, readFileSync } from 'node:fs'

export interface SidebarGroup {
  readonly text: string
  readonly items: readonly { readonly text: string; readonly link: string }[]
  readonly collapsed?: boolean
}

const page = (text: string, link: string) => ({ text, link: `/${link}` })

/** Every decision, by the heading of its page. */
const decisions = readdirSync(new URL('../decisions/', import.meta.url))
  .filter((file) => file.endsWith('.md') && file !== 'index.md')
  .map((file) => {
    const [heading = file] = readFileSync(new URL(`../decisions/${file}`, import.meta.url), 'utf8').split('\n')
    return page(heading.replace(/^# /, ''), `decisions/${file.replace(/\.md$/, '')}`)
  })

/** Every page, in the order of a reader. */
export const sidebar: SidebarGroup[] = [
  {
    text: 'Start',
    items: [
      page('Getting started', 'getting-started'),
      page('Concepts', 'concepts'),
      page('Troubleshooting', 'troubleshooting'),
      page('What it is not', 'what-it-is-not'),
      page('Coming from eve', 'coming-from-eve'),
      page('Coming from Genkit', 'coming-from-genkit'),
      page('Coming from Mastra', 'coming-from-mastra'),
      page('Coming from OpenAI Agents', 'coming-from-openai-agents'),
      page('Coming from LangGraph', 'coming-from-langgraph'),
      page('Coming from Xaibo', 'coming-from-xaibo'),
    ],
  },
  {
    text: 'Guides',
    items: [
      page('Tools', 'tools'),
      page('Tools from OpenAPI', 'openapi-tools'),
      page('Skills', 'skills'),
      page('Models', 'models'),
      page('Orchestrators', 'orchestrators'),
      page('Prompts in files', 'prompts'),
      page('Several agents', 'multi-agent'),
      page('Memory', 'memory'),
      page('Conversations', 'conversations'),
      page('Approvals', 'approvals'),
      page('Schedules', 'schedules'),
      page('Triggers', 'triggers'),
      page('Webhooks', 'webhooks'),
      page('Guard rails', 'guards'),
      page('Cost control', 'cost'),
      page('A chat page of your own', 'front-end'),
      page('Debug UI', 'debug-ui'),
      page('Live reload', 'hot-reload'),
      page('Testing', 'testing'),
      page('Replay', 'replay'),
      page('Evals', 'evals'),
      page('Writing modules', 'writing-modules'),
      page('Ejecting modules', 'eject'),
      page('Coding agents', 'coding-agents'),
      page('Embedding', 'embedding'),
      page('Running it', 'running'),
      page('Security', 'security'),
      page('Deployment', 'deployment'),
      page('Keys', 'keys'),
      page('Scaling', 'scaling'),
      page('Telemetry', 'telemetry'),
    ],
  },
  {
    text: 'Clients',
    collapsed: true,
    items: [
      page('Overview', 'clients/index'),
      page('OpenAI SDKs', 'clients/openai'),
      page('Messages API', 'clients/anthropic'),
      page('AI SDK', 'clients/ai-sdk'),
      page('LangChain', 'clients/langchain'),
      page('OpenAI Agents SDK', 'clients/openai-agents'),
      page('Pydantic AI', 'clients/pydantic-ai'),
      page('LiteLLM', 'clients/litellm'),
      page('Codex CLI', 'clients/codex'),
      page('Claude Code', 'clients/claude-code'),
      page('Copilot CLI', 'clients/copilot-cli'),
      page('Gemini CLI', 'clients/gemini-cli'),
      page('opencode', 'clients/opencode'),
      page('pi', 'clients/pi'),
      page('cline', 'clients/cline'),
      page('qwen-code', 'clients/qwen-code'),
      page('aider', 'clients/aider'),
      page('llm', 'clients/llm'),
      page('Continue', 'clients/continue'),
      page('Open WebUI', 'clients/open-webui'),
      page('AG-UI', 'clients/ag-ui'),
      page('CopilotKit', 'clients/copilotkit'),
      page('MCP clients', 'clients/mcp'),
    ],
  },
  {
    text: 'Reference',
    items: [
      page('Command line', 'cli'),
      page('Agent file and wiring', 'wiring'),
      page('Module library', 'modules'),
      page('Module configuration', 'reference'),
      page('Protocols', 'protocols'),
      page('Adapters', 'adapters'),
      page('Chat completions', 'chat'),
      page('Responses API', 'responses'),
      page('Responses over WebSocket', 'websocket'),
      page('MCP', 'mcp'),
      page('OpenAPI', 'openapi'),
      page('Errors', 'errors'),
    ],
  },
  {
    text: 'Facts',
    items: [
      page('What it installs', 'what-it-installs'),
      page('Benchmarks', 'benchmarks'),
      page('How cost grows', 'growth'),
    ],
  },
  {
    text: 'For contributors',
    collapsed: true,
    items: [page('Architecture', 'architecture'), page('Proofs', 'proofs'), page('Publishing', 'publishing')],
  },
  { text: 'Decisions', collapsed: true, items: [page('Why there are these pages', 'decisions/index'), ...decisions] },
]
