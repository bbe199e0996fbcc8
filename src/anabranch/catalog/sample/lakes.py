"""The table of the sample data: well-known lakes with their country and depth.

Names, countries and approximate mean depths are those that any atlas or encyclopedia gives; a lake
on a border is listed under one of its countries. The columns are those of lakeFS's sample, so that
its quick start works; the numbers of the lakes are our own.
"""

from __future__ import annotations

from anabranch.records.parquet import parquet_table

__all__ = ["lakes_table"]

_CREATED_BY = "anabranch sample data"

# country: lake, mean depth in metres; …
_LAKES = """
Argentina: Nahuel Huapi 157; Buenos Aires 155; Mar Chiquita 3; Argentino 150; Viedma 100
Armenia: Sevan 27
Australia: Eyre 2; Torrens 1; Gairdner 1; Lake St Clair 42
Austria: Attersee 84; Traunsee 90; Neusiedl 1; Millstatt 89; Wolfgangsee 47
Bolivia: Poopo 1; Uru Uru 1
Brazil: Lagoa dos Patos 5; Lagoa Mirim 4
Cambodia: Tonle Sap 4
Canada: Great Bear 72; Great Slave 41; Winnipeg 12; Athabasca 20; Reindeer 17; Nipigon 55; \
Louise 25; Lake of the Woods 8; Manitoba 5; Okanagan 76
Chad: Chad 2
Chile: Llanquihue 182; General Carrera 190; Todos los Santos 191; Villarrica 120; Ranco 122
China: Qinghai 18; Poyang 8; Dongting 6; Tai 2; Namtso 45; Fuxian 90
Costa Rica: Arenal 20
Croatia: Vrana 8; Kozjak 17
Denmark: Arresø 3; Esrum Sø 12; Furesø 13; Mossø 9; Julsø 7; Skanderborg Sø 8; Tissø 8; Sjælsø 3
Estonia: Peipus 7; Vortsjarv 3
Ethiopia: Tana 8; Abaya 7; Chamo 6; Ziway 3
Finland: Saimaa 17; Inari 14; Päijänne 16; Oulujarvi 7; Pielinen 10; Nasijarvi 14
France: Bourget 85; Annecy 41; Lac du Der 8
Germany: Müritz 6; Chiemsee 26; Starnberger See 53; Ammersee 38; Schweriner See 13; Königssee 98
Guatemala: Atitlán 154; Izabal 12; Peten Itza 60
Hungary: Balaton 3; Velence 2
Iceland: Thingvallavatn 34; Myvatn 3; Logurinn 51
India: Chilika 2; Wular 5; Vembanad 5; Loktak 3
Indonesia: Toba 216; Poso 194; Matano 37; Singkarak 149
Iran: Urmia 5
Ireland: Lough Corrib 8; Lough Derg 8; Lough Ree 6; Lough Mask 15
Israel: Sea of Galilee 26
Italy: Garda 133; Maggiore 177; Como 154; Trasimeno 5; Bolsena 81; Iseo 123
Japan: Biwa 41; Kasumigaura 4; Towada 71; Shikotsu 265; Tazawa 280; Ashi 25
Kazakhstan: Balkhash 6; Alakol 22; Zaysan 5
Kenya: Turkana 30; Naivasha 6; Baringo 6
Kyrgyzstan: Issyk-Kul 278; Song-Kul 9
Malawi: Malawi 292; Chilwa 1
Mexico: Chapala 8; Patzcuaro 5; Cuitzeo 1
Mongolia: Khovsgol 138; Uvs 12; Khyargas 47
Netherlands: IJsselmeer 5; Markermeer 4; Veluwemeer 2
New Zealand: Taupo 110; Te Anau 176; Wakatipu 219; Wanaka 166; Manapouri 100; Rotorua 11
Nicaragua: Nicaragua 13; Managua 9
North Macedonia: Ohrid 155; Prespa 19; Dojran 4
Norway: Mjøsa 150; Rossvatnet 103; Femunden 30; Tyrifjorden 114; Hornindalsvatnet 237
Peru: Titicaca 107; Junin 5
Poland: Sniardwy 6; Mamry 11; Hancza 39
Russia: Baikal 744; Ladoga 51; Onega 30; Taymyr 3; Khanka 5; Beloye 5; Ilmen 3; Teletskoye 174
Scotland: Loch Ness 132; Loch Lomond 37; Loch Morar 87
Slovenia: Bohinj 28; Bled 18
Sweden: Vänern 27; Vättern 40; Mälaren 13; Hjalmaren 6; Siljan 28; Storsjön 17
Switzerland: Geneva 154; Neuchatel 64; Zurich 49; Lucerne 104; Thun 136; Lugano 134
Tanzania: Tanganyika 570; Rukwa 3; Natron 1; Eyasi 1
Turkey: Van 171; Tuz 1; Egirdir 7; Beysehir 5
Uganda: Victoria 40; Albert 25; Kyoga 4; Edward 17; George 2
United States of America: Superior 147; Michigan 85; Huron 59; Erie 19; Ontario 86; Tahoe 305; \
Crater 350; Great Salt Lake 5; Okeechobee 3; Champlain 20; Iliamna 44; Yellowstone 42; Flathead 50
Zambia: Bangweulu 4; Mweru 8; Kariba 29
"""


def lakes_table() -> bytes:
    """Returns the table as a Parquet file: a row for each lake, in the order of the text."""
    rows = [
        (country, *lake.strip().rsplit(" ", 1))
        for country, _, lakes in (line.partition(":") for line in _LAKES.strip().splitlines())
        for lake in lakes.split(";")
    ]
    return parquet_table(
        {
            "Hylak_id": list(range(1, len(rows) + 1)),
            "Lake_name": [name for _, name, _ in rows],
            "Country": [country for country, _, _ in rows],
            "Depth_m": [float(depth) for _, _, depth in rows],
        },
        _CREATED_BY,
    )
