import { readdirSync, readFileSync } from 'node:fs'
import { defineConfig } from 'vitepress'

const page = (text: string, link: string) => ({ text, link: `/${link}` })

/** Every decision, by the heading of its page. */
const decisions = readdirSync(new URL('../decisions/', import.meta.url))
  .filter((file) => file.endsWith('.md') && file !== 'index.md')
  .map((file) => {
    const [heading = file] = readFileSync(new URL(`../decisions/${file}`, import.meta.url), 'utf8').split('\n')
    return page(heading.replace(/^# /, ''), `decisions/${file.replace(/\.md$/, '')}`)
  })

export default defineConfig({
  title: 'agent-host',
  description: 'Drop a YAML file into a folder, and the agent in it is served.',
  cleanUrls: true,
  lastUpdated: true,
  // Pages are plain Markdown: `<name>` is a placeholder, never a tag.
  markdown: { html: false },
  // Links to files of the repository leave the site.
  ignoreDeadLinks: [/^(\.\/)?\.\.\//],
  srcExclude: ['README.md'],
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [page('Start', 'getting-started'), page('Guides', 'tools'), page('Reference', 'cli')],
    sidebar: [
      {
        text: 'Start',
        items: [page('Getting started', 'getting-started'), page('Troubleshooting', 'troubleshooting')],
      },
      {
        text: 'Guides',
        items: [
          page('Tools', 'tools'),
          page('Models', 'models'),
          page('Orchestrators', 'orchestrators'),
          page('Memory', 'memory'),
          page('Conversations', 'conversations'),
          page('Approvals', 'approvals'),
          page('Guard rails', 'guards'),
          page('Writing modules', 'writing-modules'),
          page('Ejecting modules', 'eject'),
          page('Testing', 'testing'),
          page('Embedding', 'embedding'),
          page('Debug UI', 'debug-ui'),
          page('Deployment', 'deployment'),
          page('Telemetry', 'telemetry'),
        ],
      },
      {
        text: 'Clients',
        collapsed: true,
        items: [
          page('Overview', 'clients/'),
          page('OpenAI SDKs', 'clients/openai'),
          page('AI SDK', 'clients/ai-sdk'),
          page('LangChain', 'clients/langchain'),
          page('OpenAI Agents SDK', 'clients/openai-agents'),
          page('Pydantic AI', 'clients/pydantic-ai'),
          page('LiteLLM', 'clients/litellm'),
          page('Codex CLI', 'clients/codex'),
          page('aider', 'clients/aider'),
          page('llm', 'clients/llm'),
          page('Continue', 'clients/continue'),
          page('Open WebUI', 'clients/open-webui'),
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
          page('Adapters', 'adapters'),
          page('Chat completions', 'chat'),
          page('Responses API', 'responses'),
          page('MCP', 'mcp'),
          page('OpenAPI', 'openapi'),
          page('Errors', 'errors'),
        ],
      },
      {
        text: 'Explanation',
        items: [
          page('Architecture', 'architecture'),
          page('Live reload', 'hot-reload'),
          page('Benchmarks', 'benchmarks'),
          page('Proofs', 'proofs'),
        ],
      },
      { text: 'Decisions', collapsed: true, items: decisions },
    ],
  },
})
