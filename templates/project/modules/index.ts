// Your own modules go here: modules/weather.ts is `module: weather` in an agent file.
// A file with the path of a library module (modules/llm/auto.ts) is used instead of it.
export {}
