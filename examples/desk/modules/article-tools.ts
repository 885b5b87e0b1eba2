import { defineModule, ToolProvider } from 'agent-host'
import { Articles } from './articles.ts'

export default defineModule({
  name: 'ArticleTools',
  description: 'Lets a model read the articles.',
  provides: [ToolProvider],
  uses: { articles: Articles },
  create: ({ articles }) => ({
    async listTools(run) {
      const titles = await articles.titles(run)
      const title = { type: 'string', enum: [...titles], description: 'Title of the article' }
      const parameters = { type: 'object', properties: { title }, required: ['title'] }
      return [{ name: 'read_article', description: 'Reads an article.', parameters }]
    },
    async executeTool(_name, { title }, run) {
      const text = await articles.read(String(title), run)
      return text === undefined ? { text: `No article about ${title}.`, isError: true } : { text }
    },
  }),
})
