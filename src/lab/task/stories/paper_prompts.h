#pragma once

#include <string_view>

namespace tessera::task::stories {

/// One of the 24 prompts of Eldan & Li 2023, with the continuations that Zhang et al. 2024 print in
/// table 4, of networks of 18 blocks.
struct PaperPrompt {
  std::string_view prompt, transformer, mosaic;
};

inline constexpr PaperPrompt kPaperPrompts[] = {
    {"Alice was so tired when she got back home so she went", "to sleep.", "straight to bed."},
    {"Jack and Lily saw a rainbow after a rainy day. They were amazed by the colors. Jack "
     "said, \"Look, Lily. A rainbow has",
     "many colors!\"", "many colors!\""},
    {"Jack and Lily liked to watch the moon at night. They noticed that the moon changed "
     "its shape every night. Sometimes the moon was big and round, and sometimes it was",
     "small and thin. One night, Jack said, \"Lily, look! The moon is changing.\"",
     "small and thin. One night, Jack had an idea. He said, \"Let's make a picture of the "
     "moon!\""},
    {"Jack wanted to read a book, so he went to", "the library.", "the library."},
    {"\"Can cows fly?\", Alice asked her mother",
     "Her mother laughed and said, \"No, Alice. Only birds and planes can fly.\"",
     "\"No, dear. Only birds can fly,\" her mother replied with a smile."},
    {"\"What do birds like to eat?\", Tom asked his mother.",
     "\"Birds like to eat worms and bugs,\" his mother replied.",
     "\"Birds like to eat worms and bugs, Tom,\" his mother replied."},
    {"\"What language do they speak in France?\", Tom asked his mother",
     "His mother smiled and said, \"We all speak different languages, Tom. It's what makes"
     " us unique and special.\"",
     "His mother smiled and said, \"They speak in different languages, Tom. But we can "
     "learn some of them.\""},
    {"If I throw a ball up in the air, eventually it will", "come down and I can catch it.",
     "come down."},
    {"It was winter and cold outside so his mother told him, \"You should",
     "wear your warm coat, dear.\"", "wear your warm coat and hat.\""},
    {"Lily likes cats and dogs. She asked her mom for a dog and her mom said no, so "
     "instead she asked",
     "for a toy.", "her dad."},
    {"Jack told Mary, \"If you give me your banana, I'll give you my apple\". Mary gave "
     "Jack her banana so",
     "he could eat it.", "that he could eat it."},
    {"On weekends Jack went to visit his grandmother whereas on weekdays he would go to "
     "school. Last weekend, when Jack was on his way to",
     "school.", "school."},
    {"Lily and Ben were having an argument. Ben said that cake is much better than ice "
     "cream and Lily said that",
     "ice cream is the best.", "she likes ice cream"},
    {"Lily and Ben are having an argument. They are trying to decide between the park and "
     "the swimming pool. Ben says, \"I want to go to the park\". Lily says",
     ", \"No,", "\"No,"},
    {"Jack's mother was not home, and his father was at home. When Jack came home, he said"
     " hello to",
     "his mother.", "his mother"},
    {"Lily doesn't like swimming. When her father wants to take her to the swimming pool, "
     "she says",
     ", \"No, daddy. I don't want to go.\"", ", \"No, thank you.\""},
    {"Both Ben and Lily wanted cake. Father said that there was only one piece of cake "
     "left. They",
     "both wanted to eat it, but there was only one.",
     "all wanted to eat it, so they began to fight."},
    {"Ben went to visit Lily in her house, but she was not at home. Ben knocked on the "
     "door,",
     "and Lily's mom answered.", "and Lily's mom opened it."},
    {"\"Hi Jane, have you seen Alice? I can't find her anywhere\", said Jack.",
     "Jane shook her head. \"No, I haven't. But I will help you look.\"",
     "Jane shook her head. \"No, I haven't seen Alice. But I can help you look!\""},
    {"Max had two dogs. One was white and the other was black. Max walked up the street "
     "and saw a kid with a dog. He told the kid, \"I see you have a brown dog. I also have",
     "a white dog.\"", "a brown dog.\""},
    {"Anne had a piece of candy in her left pocket and a piece of chocolate in her right "
     "pocket. Anne's mom asked her, \"Anne, what is that you have in your left pocket?\"",
     "Anne smiled and said, \"It's a candy", "Anne opened her hand to show her mom the candy"},
    {"Alice had both an apple and a carrot in her bag. She took the apple out of the bag "
     "and gave it to Jack. She reached into the bag again and took",
     "out the carrot.", "out another apple."},
    {"Alice and Jack walked up the street and met a girl in a red dress. The girl said to "
     "them, \"Hi, I'm Jane. What are your names?\"",
     "Alice replied, \"I'm Alice. This is Jack. We came to see you.\"",
     "Alice smiled and said, \"I'm Alice. This is Jack. We are going to the park to "
     "play.\""},
    {"Diva was hungry, and wanted to bake a cake, but she didn't have any sugar at home, "
     "so she decided to go ask around. She started walking and met a squirrel. She asked "
     "the squirrel, \"Would you happen",
     "to know where I can find some sugar?\"", "to see any sugar around here?\""},
};

}  // namespace tessera::task::stories
