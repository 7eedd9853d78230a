"""Lines of text in Latin, Cyrillic, Greek, Arabic, Devanagari and Han script, and lines that are hard for tokenizers."""

import random
import re
from itertools import islice

from porting.hugging_face import shared_folder
from transformer_mb.data import demo_sentences, read_lines

COUNT = 500
# Words of one kind each: who, does what, to what, where, when.
WORDS = {
    "Cyrillic": (
        "Девочка Старик Учитель Моя_сестра Ёжик",
        "читает видит рисует любит ищет",
        "книгу реку дом яблоко письмо",
        "в_саду у_окна на_рынке в_школе",
        "сегодня вчера утром",
    ),
    "Greek": (
        "Η_γυναίκα Ο_δάσκαλος Το_παιδί Ένας_γέρος",
        "βλέπει διαβάζει αγαπά ψάχνει",
        "το_βιβλίο τη_θάλασσα ένα_μήλο το_σπίτι",
        "στον_κήπο στην_αγορά στο_σχολείο",
        "σήμερα χθες το_πρωί",
    ),
    "Arabic": (
        "البنت المعلم الرجل أختي الطفل",
        "يقرأ يرى يرسم يحب",
        "الكتاب النهر البيت التفاحة",
        "في_الحديقة في_السوق في_المدرسة",
        "اليوم أمس صباحًا",
    ),
    "Devanagari": (
        "लड़की शिक्षक मेरी_बहन बूढ़ा_आदमी",
        "किताब नदी घर सेब चिट्ठी",
        "बगीचे_में बाज़ार_में स्कूल_में",
        "आज कल सुबह",
        "पढ़ती_है देखता_है ढूँढ़ता_है",
    ),
    "Han": ("女孩 老师 我妹妹 老人", "今天 昨天 早上", "在花园里 在市场 在学校", "看 画 喜欢 找", "书 河 房子 苹果"),
}
ENDS = {"Arabic": ".؟!", "Devanagari": "।?!", "Han": "。？！", "Greek": ".;!"}
# Composed and decomposed letters, wide forms, runs of blanks, digits, signs, emoji, letters without case, joined scripts.
HARD = """naïve  café   élève | e\u0301te\u0301 ﬁn ﬂuﬀ ½ ㎏ ™ | ｗｉｄｅ　ＬＥＴＴＥＲＳ | \tTabs\u00a0and\u200bzero width
12,345.67 € = $13.90 (−4 %) | don't can't I'LL we've o'clock | https://example.org/a?b=c&d=%20 | 🙂👩\u200d🚀🇫🇷 emoji
MiXeD CaSe ÀÉÎ ß ẞ İ ı | 日本語とカタカナ、ﾊﾝｶｸ | 한국어 문장 | ไทยไม่เว้นวรรค | שלום עולם | ʼn ǅ ĳ | -- — … « » “quotes” ‘single’
x\u2028y\u0085z |  leading and trailing  | aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa | C++ & C# / @user #tag | ﷺ ﷽"""


def lines():
    """``COUNT`` lines: a third English, French and German, real where they are there, else of the built-in corpus."""
    dice = random.Random(5)
    made = [sentence(script, dice) for number in range(COUNT) for script in [list(WORDS)[number % len(WORDS)]]]
    latin = real() or [line for pair in islice(demo_sentences(), COUNT) for line in pair]
    taken = [*re.split(r" \| |\n", HARD), *latin[: COUNT // 3]]
    return [*taken, *made[: COUNT - len(taken)]]


def sentence(script, dice):
    chosen = [dice.choice(kind.split()).replace("_", " ") for kind in WORDS[script]]
    number = f" {dice.randrange(3000)}" if dice.random() < 0.2 else ""
    return ("" if script == "Han" else " ").join(chosen) + number + dice.choice(ENDS.get(script, ".?!"))


def real():
    folder = shared_folder()
    if folder is None:
        return []
    each = [read_lines(folder / "multi30k" / f"test_2016_flickr.{language}.gz") for language in ("en", "fr", "de")]
    return [line for lines in zip(*each, strict=True) for line in lines]
