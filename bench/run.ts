import { benchChat } from './chat.ts'

await benchChat()
